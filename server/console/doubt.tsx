/** Said above data that may no longer be true: since when, why, and a way to try at once. */
import type { LastGood } from './last-good.ts';
import { Notice } from './notice.tsx';
import { At } from './time.tsx';

export function Doubt<T>({ of: { unknown, load } }: { readonly of: LastGood<T> }) {
  const doubt = unknown.value;
  if (doubt === undefined) return null;
  return (
    <Notice
      kind="warn"
      role="status"
      action={
        <button class="button button-small" type="button" onClick={() => void load()}>
          Try again
        </button>
      }
    >
      <strong>
        Unknown since <At ms={doubt.sinceMs} />.
      </strong>{' '}
      {doubt.why} Below is what was known then.
    </Notice>
  );
}
