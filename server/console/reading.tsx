/** What stands in the place of something that is not known: no number, and no empty list. */
import { Notice } from './notice.tsx';

/** Says that something is read. `what` is a text such as `the builds`. */
export function Reading({ what, rows = 4 }: { readonly what: string; readonly rows?: number }) {
  return (
    <div class="skeleton" role="status" aria-busy="true">
      <span class="visually-hidden">Reading {what}…</span>
      {Array.from({ length: rows }, (_each, row) => (
        <div key={row} class="skeleton-row" />
      ))}
    </div>
  );
}

/** Says that something could not be read. `what` is a text such as `The builds`. */
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
