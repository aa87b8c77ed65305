/** Looks for lines without standing in anybody's way: some at a time, and what comes meanwhile after them. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Line } from './log-block.ts';
import type { LogLines } from './log-lines.ts';

/** Time for which it works before others have their turn. */
const SLICE_MS = 8;
/** Lines between two looks at the clock. */
const STRIDE = 256;

export interface Scan {
  /** Numbers of the lines that were found, in order. */
  readonly found: readonly number[];
  /** Nothing is left to be looked at. */
  readonly isDone: boolean;
}

export interface Search {
  readonly matches: (line: Line) => boolean;
  /** So many are enough. */
  readonly max: number;
}

const NONE: Scan = { found: [], isDone: true };

/** Looks at lines until the time is over. Returns how far it has come. */
export function createScan(log: LogLines, { matches, max }: Search) {
  const found: number[] = [];
  let next = 1;
  return {
    step: (now: () => number, untilMs: number): Scan => {
      next = Math.max(next, log.dropped + 1);
      for (let left = STRIDE; next <= log.complete && found.length < max; left -= 1) {
        if (left === 0) {
          if (now() >= untilMs) return { found: [...found], isDone: false };
          left = STRIDE;
        }
        if (matches(log.line(next))) found.push(next);
        next += 1;
      }
      return { found: [...found], isDone: true };
    },
  };
}

/** `search` stays the same object for the same search; undefined: nothing is looked for. */
export function useScan(log: LogLines, drawn: number, search: Search | undefined): ReadonlySignal<Scan> {
  const state = useSignal(NONE);
  const scan = useMemo(() => search && createScan(log, search), [log, search]);
  useEffect(() => {
    if (scan === undefined) {
      state.value = NONE;
      return;
    }
    let timer = 0;
    const step = (): void => {
      const now = (): number => performance.now();
      const { found, isDone } = scan.step(now, now() + SLICE_MS);
      const before = state.peek();
      if (before.found.length !== found.length || before.isDone !== isDone || before.found[0] !== found[0])
        state.value = { found, isDone };
      if (!isDone) timer = window.setTimeout(step);
    };
    step();
    return () => window.clearTimeout(timer);
  }, [scan, drawn]);
  return state;
}
