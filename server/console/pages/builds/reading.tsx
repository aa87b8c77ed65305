/** What stands in the place of builds that are not known. */
import { Notice } from '../../notice.tsx';

export function Reading() {
  return (
    <div class="skeleton" role="status" aria-busy="true">
      <span class="visually-hidden">Reading the builds…</span>
      {[1, 2, 3, 4].map((row) => (
        <div key={row} class="skeleton-row" />
      ))}
    </div>
  );
}

export function Failed({
  what,
  why,
  again,
}: {
  readonly what: string;
  readonly why: string;
  readonly again: () => void;
}) {
  return (
    <Notice
      kind="bad"
      role="alert"
      action={
        <button class="button button-small" type="button" onClick={again}>
          Try again
        </button>
      }
    >
      <strong>{what} could not be read.</strong> {why}
    </Notice>
  );
}
