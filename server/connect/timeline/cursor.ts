/**
 * A cursor of the timeline reads `2026-11-20T16:00:00.123Z~cir_…`. The time alone will do, and means
 * everything before it; the id behind it says which entries of that very time are still to come.
 */
import { wrongField } from '../../kit/wrong-field.ts';

export interface Position {
  readonly at: Date;
  /** An empty id stands before all that has this time. */
  readonly id: string;
}

const FORM =
  /^(\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?)(?:~([a-z]+_[0-9a-z]{26}))?$/;

export function parseCursor(cursor: string): Position {
  // In a query `+` is a space, as many who write a time by hand find out.
  const [, time = '', id = ''] = FORM.exec(cursor.replace(/ (\d{2}:?\d{2}(?:~|$))/, '+$1')) ?? [];
  // A time without a zone is UTC, not the time of whatever machine answers.
  const zoned = /(?:[Zz]|[+-]\d{2}:?\d{2})$|^\d{4}-\d{2}-\d{2}$/.test(time) ? time : `${time}Z`;
  const at = new Date(zoned.replace(',', '.').replace(' ', 'T'));
  // The year must be one that the database knows; a zone can lead out of those of four digits.
  if (time !== '' && at.getUTCFullYear() >= 1 && at.getUTCFullYear() <= 9_999) return { at, id };
  const message = `cursor is "${cursor}", expected an ISO 8601 time such as 2026-11-20T16:00:00Z, or the nextCursor of a page`;
  throw wrongField(message, { field: 'cursor', rule: 'timestamp' });
}

export function formatCursor({ at, id }: Position): string {
  return `${at.toISOString()}~${id}`;
}

interface Groupable {
  readonly id: string;
  readonly commitSha: string | null;
}

/**
 * Entries come newest first; each commit goes where its newest entry stands. Entries without a commit stand
 * alone.
 */
export function groupByCommit<T extends Groupable>(entries: readonly T[]): readonly T[] {
  const groups = new Map<string, T[]>();
  for (const entry of entries) {
    const key = entry.commitSha ?? entry.id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return [...groups.values()].flat();
}
