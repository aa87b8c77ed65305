/** The lines that the address names, which are brought into view once they are there. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { hashOf, linesOf } from './chosen-lines.ts';
import type { Span } from './log-layout.ts';
import type { LogLines } from './log-lines.ts';

export interface ChosenLines {
  readonly lines: Span | undefined;
  /** `to` is the other end of more than one. */
  readonly choose: (from: number, to?: number) => void;
}

export interface ChosenOptions {
  readonly log: LogLines;
  readonly drawn: number;
  readonly goTo: (line: number) => void;
}

export function useChosenLines({ log, drawn, goTo }: ChosenOptions): ChosenLines {
  const lines = useSignal(linesOf(window.location.hash));
  const wanted = useSignal(lines.peek()?.[0]);
  const read = (): void => {
    lines.value = linesOf(window.location.hash);
    wanted.value = lines.value?.[0];
  };
  useEffect(() => {
    window.addEventListener('hashchange', read);
    return () => window.removeEventListener('hashchange', read);
  }, []);
  useEffect(() => {
    const line = wanted.value;
    if (line === undefined || line <= log.dropped || line > log.last) return;
    wanted.value = undefined;
    goTo(line);
  }, [drawn, wanted.value]);
  return {
    lines: lines.value,
    choose: (from, to = from) => {
      lines.value = [Math.min(from, to), Math.max(from, to) + 1];
      wanted.value = to;
      window.history.replaceState(window.history.state, '', hashOf(lines.value));
    },
  };
}
