/** This hook tells how many columns of text fit beside the numbers, where lines are wrapped. */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** Narrower than this nothing can be read. */
const COLUMNS_MIN = 10;
/** Columns that the line of the probe is wide. */
export const PROBE_COLUMNS = 100;

export interface ColumnsOptions {
  readonly isWrapped: boolean;
  /** Text that changes with the width of the gutter. */
  readonly gutter: string;
}

/** 0 where lines are not wrapped. The box has a line whose text, `.log-probe`, is `PROBE_COLUMNS` wide. */
export function useColumns(
  box: RefObject<HTMLElement | null>,
  { isWrapped, gutter }: ColumnsOptions,
): number {
  const columns = useSignal(COLUMNS_MIN);
  useLayoutEffect(() => {
    const element = box.current;
    if (!isWrapped || element === null) return;
    const measure = (): void => {
      const probe = element.querySelector('.log-probe')?.getBoundingClientRect();
      if (probe === undefined || probe.width === 0) return;
      const left =
        probe.left - element.getBoundingClientRect().left - element.clientLeft + element.scrollLeft;
      const fit = Math.floor(((element.clientWidth - left) * PROBE_COLUMNS) / probe.width) - 1;
      columns.value = Math.max(COLUMNS_MIN, fit);
    };
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    measure();
    return () => watch.disconnect();
  }, [isWrapped, gutter]);
  return isWrapped ? columns.value : 0;
}
