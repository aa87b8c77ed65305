/** These views stand in the place of something that is not known: no number, and no empty list. */
import type { LastGood } from './last-good.ts';
import { Notice } from './notice.tsx';

interface UnreadProps<T> {
  readonly of: LastGood<T>;
  /** A text such as `the builds`. */
  readonly what: string;
  readonly rows?: number;
  /** It stands in a dialog, as a text alone. */
  readonly plain?: boolean;
}

/** Says that something is read. `what` is a text such as `the builds`. */
function Reading({ what, rows = 4 }: { readonly what: string; readonly rows?: number }) {
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
    <Notice kind="bad" role="alert" again={again}>
      <strong>{what} could not be read.</strong> {why}
    </Notice>
  );
}

/** Stands in the place of what was never read: says that it is read, or why it could not be. */
export function Unread<T>({ of, what, rows, plain = false }: UnreadProps<T>) {
  const unknown = of.unknown.value;
  if (unknown === undefined && plain) {
    return (
      <p class="muted" role="status">
        Reading {what}…
      </p>
    );
  }
  if (unknown === undefined) return <Reading what={what} {...(rows !== undefined && { rows })} />;
  const name = what.charAt(0).toUpperCase() + what.slice(1);
  return <Failed what={name} why={unknown.why} again={() => void of.load()} />;
}
