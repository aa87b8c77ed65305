/**
 * This hook knows the lines of a long list that are in view, and if the end is held on to: scrolling up lets
 * go of it, coming back to it takes hold again.
 */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/** Height of a line in pixels; the same stands in log.css. */
export const LINE_PX = 20;
/** Lines drawn above and below what is in view, so that scrolling finds them there. */
const AROUND = 30;

export interface WindowOfLines {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly from: number;
  readonly to: number;
  readonly held: boolean;
  readonly onScroll: () => void;
  readonly goToEnd: () => void;
  /** Brings a line into view, by its place in the list. */
  readonly goTo: (index: number) => void;
}

/** `drawn` counts up when lines were added. */
export function useWindowOfLines(count: number, drawn: number): WindowOfLines {
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600 });
  const held = useSignal(true);
  const lastTop = useRef(0);
  const measure = (): void => {
    const { scrollTop, clientHeight } = box.current ?? { scrollTop: 0, clientHeight: 600 };
    const { top, height } = view.peek();
    if (top !== scrollTop || height !== clientHeight) view.value = { top: scrollTop, height: clientHeight };
  };
  const toEnd = (): void => {
    if (box.current === null) return;
    box.current.scrollTop = box.current.scrollHeight;
    lastTop.current = box.current.scrollTop;
  };
  useLayoutEffect(() => {
    if (held.peek()) toEnd();
  }, [drawn]);
  useEffect(() => {
    measure();
    window.addEventListener('resize', measure);
    return () => window.removeEventListener('resize', measure);
  }, []);
  const { top: scrolledTo, height } = view.value;
  // At the end, what is drawn follows from the lines alone: the browser tells of the scrolling a frame later.
  const top = held.value ? Math.max(0, count * LINE_PX - height) : scrolledTo;
  return {
    box,
    from: Math.max(0, Math.floor(top / LINE_PX) - AROUND),
    to: Math.min(count, Math.ceil((top + height) / LINE_PX) + AROUND),
    held: held.value,
    onScroll: () => {
      if (box.current === null) return;
      const { scrollTop, scrollHeight, clientHeight } = box.current;
      // Only a move upwards is the reader's; that the end is further down may be new output.
      if (scrollTop < lastTop.current - 1) held.value = false;
      if (scrollHeight - scrollTop - clientHeight < LINE_PX * 1.5) held.value = true;
      lastTop.current = scrollTop;
      measure();
    },
    goTo: (index) => {
      held.value = false;
      if (box.current !== null) box.current.scrollTop = Math.max(0, index * LINE_PX - height / 2);
      lastTop.current = box.current?.scrollTop ?? 0;
      measure();
    },
    goToEnd: () => {
      held.value = true;
      toEnd();
      box.current?.focus();
    },
  };
}
