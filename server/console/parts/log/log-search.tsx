/** Finds a text in the lines of an output, and goes from one line that has it to the next. */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useMemo } from 'preact/hooks';
import { Button } from '../../button.tsx';
import { plainOf } from './ansi.ts';
import type { ChosenLines } from './use-chosen-lines.ts';
import type { LogLines } from './log-lines.ts';
import { useScan } from './log-scan.ts';

/** So many are counted; more say nothing more. */
const FOUND_MAX = 10_000;

/** Finds the text as it stands, in whatever case; undefined for no text. */
export const patternOf = (text: string): RegExp | undefined =>
  text === '' ? undefined : new RegExp(text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'), 'gi');

/** The line with which the one that goes on from another is found; behind the last comes the first. */
export function nextOf(found: readonly number[], from: number | undefined, by: 1 | -1): number | undefined {
  if (from === undefined) return by === 1 ? found[0] : found.at(-1);
  if (by === 1) return found.find((line) => line > from) ?? found[0];
  return found.findLast((line) => line < from) ?? found.at(-1);
}

export interface LogSearch {
  readonly text: string;
  readonly pattern: RegExp | undefined;
  /** What there is to say about what was found. */
  readonly count: string;
  readonly isEmpty: boolean;
  readonly set: (text: string) => void;
  readonly go: (by: 1 | -1) => void;
}

export interface LogSearchOptions {
  readonly log: LogLines;
  readonly drawn: number;
  readonly chosen: ChosenLines;
}

export function useLogSearch({ log, drawn, chosen }: LogSearchOptions): LogSearch {
  const text = useSignal('');
  const pattern = useMemo(() => patternOf(text.value), [text.value]);
  const search = useMemo(() => {
    // Without `g`, which would go on from where it found something in another line.
    const test = pattern && new RegExp(pattern, 'i');
    return test && { max: FOUND_MAX, matches: (line: { text: string }) => test.test(plainOf(line.text)) };
  }, [pattern]);
  const { found, isDone } = useScan(log, drawn, search).value;
  const at = chosen.lines === undefined ? 0 : found.indexOf(chosen.lines[0]) + 1;
  const more = found.length === FOUND_MAX ? '+' : isDone ? '' : '…';
  return {
    text: text.value,
    pattern,
    isEmpty: found.length === 0,
    count:
      pattern === undefined
        ? ''
        : found.length === 0 && isDone
          ? 'None'
          : `${at.toLocaleString('en')} of ${found.length.toLocaleString('en')}${more}`,
    set: (next) => {
      text.value = next;
    },
    go: (by) => {
      const next = nextOf(found, chosen.lines?.[0], by);
      if (next !== undefined) chosen.choose(next);
    },
  };
}

interface LogSearchFieldProps {
  readonly of: LogSearch;
  readonly field: RefObject<HTMLInputElement | null>;
  /** The first one was gone to: the keys of the output go on from there. */
  readonly onGone: () => void;
}

export function LogSearchField({ of, field, onGone }: LogSearchFieldProps) {
  return (
    <form
      class="log-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (of.isEmpty) return;
        of.go(1);
        onGone();
      }}
    >
      <input
        ref={field}
        aria-label="Find in the output"
        aria-keyshortcuts="/"
        title="Find (/)"
        placeholder="Find"
        autoComplete="off"
        spellcheck={false}
        value={of.text}
        onInput={(event) => of.set(event.currentTarget.value)}
      />
      <Button
        text="Previous"
        look="small"
        title="Previous (N)"
        aria-keyshortcuts="Shift+N"
        waits={of.isEmpty}
        onClick={() => of.go(-1)}
      />
      <Button
        text="Next"
        look="small"
        title="Next (n)"
        aria-keyshortcuts="N"
        waits={of.isEmpty}
        onClick={() => of.go(1)}
      />
      <span class="muted log-count" role="status">
        {of.count}
      </span>
    </form>
  );
}
