/** Going to a row of the table from elsewhere: a blocker's link, an address with the key behind its `#`. */
import { featureOf } from './features.ts';
import { clearFilter, currentFilter, matches } from './filter.ts';

export const rowId = (key: string): string => `row-${key}`;

/** Shows the row, filters or not, and puts the focus on it. */
export function goToRow(key: string): void {
  const feature = featureOf(key);
  if (feature === undefined) return;
  if (!matches(feature, currentFilter(), Date.now())) clearFilter();
  // After the table has drawn the row that the filter had hidden.
  requestAnimationFrame(() => {
    const row = document.getElementById(rowId(key));
    row?.scrollIntoView({ block: 'center' });
    row?.focus({ preventScroll: true });
  });
}
