/**
 * Browsers draw nothing below some 17 (Firefox) or 33 (the others) million pixels, which a million lines come
 * to and wrapped ones pass by far. What is higher scrolls in a box of a bounded height: the bar stands where
 * it would in the whole, and small steps, as those of wheels and keys, are as long as they are.
 */

/** Height of the box in pixels, at most. */
export const BOX_PX_MAX = 10_000_000;

/** Sizes in pixels. */
export interface Scrolled {
  /** All lines. */
  readonly all: number;
  /** Height of what is in view of them. */
  readonly view: number;
}

export const boxPx = ({ all }: Scrolled): number => Math.min(all, BOX_PX_MAX);

/** The lowest place that the view can have among the lines. */
export const endOf = ({ all, view }: Scrolled): number => Math.max(0, all - view);

const barEnd = (of: Scrolled): number => Math.max(0, boxPx(of) - of.view);

const isWhole = ({ all }: Scrolled): boolean => all <= BOX_PX_MAX;

/** Returns where the bar stands when the view is at `top` of the lines. */
export const toBar = (of: Scrolled, top: number): number =>
  isWhole(of) ? top : (top / endOf(of)) * barEnd(of);

const fromBar = (of: Scrolled, bar: number): number => (bar / barEnd(of)) * endOf(of);

/** Places of the view among the lines, and of the bar in the box. */
export interface Stand {
  readonly top: number;
  readonly bar: number;
}

/** Returns where the view is after the bar has moved, and the bar, which is put back where it is stuck. */
export function moved(of: Scrolled, { top, bar: before }: Stand, bar: number): Stand {
  if (isWhole(of)) return { top: bar, bar };
  const by = bar - before;
  const next = Math.abs(by) > of.view ? fromBar(of, bar) : Math.min(endOf(of), Math.max(0, top + by));
  const isStuck = (bar <= 0 && next > 0) || (bar >= barEnd(of) - 1 && next < endOf(of));
  // Not quite to the end of the bar, from which nothing can be scrolled any further.
  return {
    top: next,
    bar: isStuck ? Math.min(barEnd(of) - of.view, Math.max(of.view, toBar(of, next))) : bar,
  };
}
