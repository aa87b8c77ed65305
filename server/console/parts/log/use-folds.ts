/** This hook keeps the headings that somebody has folded the lines below away under. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { below, hiddenBelow, type Shape, type Span } from './log-layout.ts';
import type { LogLines } from './log-lines.ts';

const NONE: ReadonlySet<number> = new Set();

export interface Folds {
  readonly hidden: Shape['hidden'];
  /** What is to be shown at a line that is a heading. */
  readonly at: (line: number) => Fold | undefined;
  readonly isAny: boolean;
  readonly toggleAll: () => void;
  /** Opens what the line is folded away under. */
  readonly open: (line: number) => void;
}

export interface Fold {
  readonly isFolded: boolean;
  /** Lines below it. */
  readonly count: number;
  readonly toggle: () => void;
}

export function useFolds({ headings, last }: LogLines): Folds {
  const folded = useSignal(NONE);
  const spanOf = (index: number): Span => {
    const [from, to] = below(headings, index);
    return [from, Math.min(to, last + 1)];
  };
  const hidden = useMemo(
    () => hiddenBelow(headings, folded.value),
    // Without a fold new headings change nothing.
    [folded.value, folded.value.size === 0 ? 0 : headings.at(-1)?.line],
  );
  const without = (lines: readonly number[]): ReadonlySet<number> => {
    const rest = [...folded.peek()].filter((line) => !lines.includes(line));
    return rest.length === 0 ? NONE : new Set(rest);
  };
  return {
    hidden,
    isAny: folded.value.size > 0,
    at: (line) => {
      const index = headings.findIndex((each) => each.line === line);
      if (index === -1) return undefined;
      const [from, to] = spanOf(index);
      const isFolded = folded.value.has(line);
      return {
        isFolded,
        count: to - from,
        toggle: () => {
          folded.value = isFolded ? without([line]) : new Set([...folded.peek(), line]);
        },
      };
    },
    toggleAll: () => {
      folded.value = folded.peek().size > 0 ? NONE : new Set(headings.map(({ line }) => line));
    },
    open: (line) => {
      const around = headings.flatMap((heading, index) => {
        const [from, to] = spanOf(index);
        return folded.peek().has(heading.line) && line >= from && line < to ? [heading.line] : [];
      });
      if (around.length > 0) folded.value = without(around);
    },
  };
}
