/** Goes through the rows of the page's lists: the focus is on what opens a row, or on the row itself. */

const ROWS = 'main tbody > tr:not(:has([scope="rowgroup"]), [role="presentation"])';

/** `data-opens` marks it where the first link leads elsewhere. */
const stopOf = (row: HTMLElement): HTMLElement =>
  row.querySelector<HTMLElement>('[data-opens]') ?? row.querySelector<HTMLElement>('a[href], button') ?? row;

/**
 * Returns whether there was a row to go to. Arrows scroll the page until somebody is in a list; from outside
 * the first row is the one that is in view.
 */
export function stepRow({ key, target }: KeyboardEvent, by: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)].filter((row) => row.checkVisibility());
  const here = target instanceof Element ? target.closest<HTMLElement>(ROWS) : null;
  if (here === null && key.startsWith('Arrow')) return false;
  const next =
    here === null ? rows.find((row) => row.getBoundingClientRect().top >= 0) : rows[rows.indexOf(here) + by];
  if (next === undefined) return here !== null;
  const stop = stopOf(next);
  if (stop === next) next.tabIndex = -1;
  stop.focus();
  return true;
}
