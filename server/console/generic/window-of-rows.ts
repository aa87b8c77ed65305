/**
 * This hook knows which rows of a long table are near the view, so that the others need not be drawn. Those
 * are taken to be as high as the drawn ones are on average; the browser keeps what is in view where it is.
 */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Rows are drawn and taken away so many at a time. */
const STEP = 5;
/** Rows above and below the view are drawn as far as this. */
const AROUND_PX = 80;
/** Height of a row of which none was drawn yet. */
const ROW_PX = 36;
/** Rows that most windows show. */
const FIRST = 6 * STEP;

interface Drawn {
  readonly from: number;
  readonly to: number;
}

export interface WindowOfRows extends Drawn {
  readonly body: RefObject<HTMLTableSectionElement | null>;
  /** Height of a row that is not drawn. */
  readonly rowPx: number;
}

export function useWindowOfRows(count: number): WindowOfRows {
  const body = useRef<HTMLTableSectionElement>(null);
  const drawn = useSignal<Drawn>({ from: 0, to: FIRST });
  const size = useRef({ rowPx: ROW_PX, width: 0 });
  useLayoutEffect(() => {
    if (count <= FIRST) return;
    const look = (): void => {
      if (body.current === null) return;
      size.current = sizeOf(body.current, size.current);
      const next = near(body.current, { count, rowPx: size.current.rowPx });
      const { from, to } = drawn.peek();
      if (next.from !== from || next.to !== to) drawn.value = next;
    };
    look();
    window.addEventListener('scroll', look, { passive: true });
    window.addEventListener('resize', look);
    return () => {
      window.removeEventListener('scroll', look);
      window.removeEventListener('resize', look);
    };
  }, [count]);
  const { from, to } = drawn.value;
  return { body, from: Math.min(from, count), to: Math.min(to, count), rowPx: size.current.rowPx };
}

/** Rows are measured anew only in another width: what is not drawn would jump otherwise. */
function sizeOf({ rows, offsetHeight, offsetWidth }: HTMLTableSectionElement, known: Size): Size {
  return offsetWidth === known.width || rows.length === 0
    ? known
    : { rowPx: offsetHeight / rows.length, width: offsetWidth };
}

interface Size {
  readonly rowPx: number;
  readonly width: number;
}

function near(
  body: HTMLElement,
  { count, rowPx }: { readonly count: number; readonly rowPx: number },
): Drawn {
  const table = body.parentElement?.getBoundingClientRect();
  const above = -(table?.top ?? 0);
  const stepPx = STEP * rowPx;
  const last = Math.ceil(count / STEP);
  const from = Math.min(last - 1, Math.max(0, Math.floor((above - AROUND_PX) / stepPx)));
  const to = Math.max(from + 1, Math.ceil((above + window.innerHeight + AROUND_PX) / stepPx));
  return { from: from * STEP, to: Math.min(count, to * STEP) };
}
