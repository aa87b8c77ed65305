/**
 * The place of a session is the cluster and the database in it, and the timeline, on which a standby has no
 * say.
 */
export interface Place {
  readonly place: string;
  readonly timeline: string | null;
}

/** Columns of a select. */
export const PLACE = `(select system_identifier from pg_control_system())::text || '/' || (select oid from pg_database where datname = current_database())::text as place,
  case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`;

/** A copy that was promoted is on a timeline of its own. */
export function differs(one: Place, other: Place): boolean {
  if (one.place !== other.place) return true;
  return one.timeline !== null && other.timeline !== null && one.timeline !== other.timeline;
}

export const wordsOf = ({ place, timeline }: Place): string =>
  `cluster and database ${place}, ${timeline === null ? 'a standby' : `timeline ${timeline}`}`;
