/** Said above data that may no longer be true: since when, why, and a way to try at once. */
import type { LastGood } from './last-good.ts';
import { Notice } from './notice.tsx';
import { At } from './time.tsx';

export function StaleNotice<T>({ of: { unknown, load } }: { readonly of: LastGood<T> }) {
  const stale = unknown.value;
  if (stale === undefined) return null;
  return (
    <Notice kind="warn" role="status" again={load}>
      <strong>
        Unknown since <At ms={stale.sinceMs} />.
      </strong>{' '}
      {stale.why} Below is what was known then.
    </Notice>
  );
}
