/**
 * This hook knows which lines of an output are in view, and if its end is held on to: scrolling up lets go of
 * it, coming back to it takes hold again. The reader's place is a line and not a number of pixels, so that
 * wrapping, folding and letting go of the oldest lines leave it where it is.
 */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { ROW_PX, type LogLayout, type PlacedLine, type Shape } from './log-layout.ts';
import { boxPx, endOf, moved, toBar, type Scrolled } from './scroll-scale.ts';

/** So much is drawn above and below what is in view, so that scrolling finds it there. */
const AROUND_PX = 30 * ROW_PX;

interface Place {
  /** The line at the top, and how much of it is above. */
  readonly line: number;
  readonly px: number;
  /** Place of the bar then. */
  readonly bar: number;
}

export interface WindowOfLines {
  readonly lines: readonly PlacedLine[];
  /** Height of what is scrolled, and where the first of the lines is in it, in pixels. */
  readonly height: number;
  readonly offset: number;
  readonly isHeld: boolean;
  /** The line at the top. */
  readonly top: number;
  readonly onScroll: () => void;
  readonly goToStart: () => void;
  readonly goToEnd: () => void;
  /** Brings a line into view, as it is laid out when this is drawn next. */
  readonly goTo: (line: number) => void;
}

export interface WindowOptions {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly layout: LogLayout;
  readonly shape: Shape;
  /** Counts up when lines were added. */
  readonly drawn: number;
}

/** Knows where the reader is, and moves them. */
function usePlace({ box, layout }: Pick<WindowOptions, 'box' | 'layout'>, view: number) {
  const place = useSignal<Place>({ line: 1, px: 0, bar: 0 });
  const isHeld = useSignal(true);
  /** Place of the bar, as far as this hook has put it or was told. */
  const bar = useRef(0);
  const of: Scrolled = { all: layout.height, view };
  const end = endOf(of);
  const topOf = ({ line, px }: Place): number => Math.min(end, layout.topOf(line) + px);
  const top = isHeld.value ? end : topOf(place.value);
  /** The same, for who scrolls twice before it is drawn. */
  const topNow = useRef(top);
  topNow.current = top;

  const put = (to: number): void => {
    if (box.current === null) return;
    box.current.scrollTop = to;
    bar.current = box.current.scrollTop;
  };
  const stay = (at: number): void => {
    const line = layout.lineAt(at);
    topNow.current = at;
    place.value = { line, px: at - layout.topOf(line), bar: bar.current };
  };
  return {
    of,
    end,
    top,
    topNow,
    bar,
    isHeld,
    put,
    stay,
    /** Place of the bar as this is drawn. */
    drawnBar: isHeld.value ? toBar(of, end) : place.value.bar,
    hold: (): void => put(toBar(of, end)),
    stand: (at = topOf(place.peek())): void => {
      isHeld.value = false;
      put(toBar(of, at));
      stay(at);
    },
  };
}

export function useWindowOfLines({ box, layout, shape, drawn }: WindowOptions): WindowOfLines {
  const view = useHeight(box);
  const place = usePlace({ box, layout }, view);
  const { of, end, top, topNow, bar, isHeld, hold, stand } = place;
  const wanted = useSignal<{ readonly line: number } | undefined>(undefined);
  useLayoutEffect(() => {
    if (isHeld.peek()) hold();
  }, [drawn, view]);
  useLayoutEffect(() => {
    if (isHeld.peek()) hold();
    else stand();
  }, [shape, layout.first]);
  useLayoutEffect(() => {
    if (wanted.value === undefined) return;
    const at = layout.topOf(wanted.value.line);
    const isInView = at >= topNow.current && at + 2 * ROW_PX <= topNow.current + view;
    stand(isInView ? topNow.current : Math.min(end, Math.max(0, at - view / 2)));
  }, [wanted.value]);

  const lines = layout.between(top - AROUND_PX, top + view + AROUND_PX);
  return {
    lines,
    height: boxPx(of),
    offset: place.drawnBar + (lines[0]?.top ?? 0) - top,
    isHeld: isHeld.value || end === 0,
    top: layout.lineAt(top),
    onScroll: () => {
      const now = box.current?.scrollTop ?? 0;
      if (Math.abs(now - bar.current) < 1) return;
      const next = moved(of, { top: topNow.current, bar: bar.current }, now);
      // Only a move upwards is the reader's; that the end is further down may be new output.
      if (now < bar.current) isHeld.value = false;
      if (end - next.top < ROW_PX * 1.5) isHeld.value = true;
      bar.current = now;
      if (isHeld.value) hold();
      else if (next.bar !== now) place.put(next.bar);
      place.stay(next.top);
    },
    goToStart: () => stand(0),
    goToEnd: () => {
      isHeld.value = true;
      hold();
      box.current?.focus();
    },
    goTo: (line) => {
      wanted.value = { line };
    },
  };
}

/** Height of what is in view of an element. */
function useHeight(box: RefObject<HTMLElement | null>): number {
  const height = useSignal(600);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => {
      height.value = element.clientHeight;
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return height.value;
}
