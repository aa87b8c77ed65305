/**
 * People find things of a team by name or id. Each feature says what of its own is found, and by which scope:
 * things with names whose number a limit keeps small by any part of the name, those of any number by the
 * beginning of their ids, through the index of a team's rows.
 */
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import type { SqlTag } from '../base/db/index.ts';
import type { Fragment } from '../base/sql.ts';
import { fill, port, type Fill } from './feature.ts';
import type { SeenBy } from './seen-by.ts';
import { resourceOf, type TeamTable } from './resource/team-table.ts';

export interface SearchOf {
  readonly teamId: string;
  /** The text that a person typed, without blanks around it. */
  readonly text: string;
  readonly take: number;
}

export interface SearchSource extends SeenBy {
  /** Selects the columns of `SearchHitRow`, in this order. All of it is a constant but for its values. */
  find(sql: SqlTag, of: SearchOf): Fragment;
}

export interface SearchHitRow {
  /** Kind of the thing for people, such as `environment`. */
  readonly kind: string;
  readonly id: string;
  readonly name: string | null;
  readonly projectId: string | null;
  readonly environmentId: string | null;
}

export const searchSources = port<SearchSource>('things that people find');

interface Described extends SeenBy {
  readonly kind: string;
  /** Selects `teamId`, `id`, `name`, `projectId` and `environmentId` of all that there is. */
  readonly rows: (sql: SqlTag) => Fragment;
}

/** Finds by any part of the name, in any case, and by the whole id. */
export function findsByName({ kind, rows, ...seenBy }: Described): Fill {
  return fill(searchSources, {
    ...seenBy,
    find: (sql, { teamId, text, take }) => sql`
      select ${kind}::text as kind, f.id, f.name, f."projectId", f."environmentId" from (${rows(sql)}) f
      where f."teamId" = ${teamId} and (strpos(lower(f.name), lower(${text})) > 0 or f.id = ${text})
      order by ${closest(sql, text)} limit ${take}::int`,
  });
}

/** No id goes on behind this, in whatever order the database has letters and digits. */
const LAST = 'z'.repeat(26);

/** Finds by the beginning of the id, newest first. */
export function findsById({ kind, rows, prefix, ...seenBy }: Described & { readonly prefix: string }): Fill {
  return fill(searchSources, {
    ...seenBy,
    find: (sql, { teamId, text, take }) => sql`
      select ${kind}::text as kind, f.id, f.name, f."projectId", f."environmentId" from (${rows(sql)}) f
      where starts_with(${text}, ${`${prefix}_`}) and f."teamId" = ${teamId} and starts_with(f.id, ${text})
        and f.id >= ${text} and f.id <= ${text} || ${LAST}
      order by f.id desc limit ${take}::int`,
  });
}

/** Describes the rows of a plain resource; `name` is its column that people know it by. */
export function described(
  table: TeamTable,
  scope: string,
  name: AnyPgColumn,
): Described & { prefix: string } {
  const { kind, prefix } = resourceOf(table);
  const columns = Object.values(getTableColumns(table)).map((column) => column.name);
  const place = (sql: SqlTag, column: string) => (columns.includes(column) ? sql(column) : sql`null::text`);
  const rows = (sql: SqlTag): Fragment => sql`
    select team_id as "teamId", id, ${sql(name.name)} as name, ${place(sql, 'project_id')} as "projectId",
      ${place(sql, 'environment_id')} as "environmentId" from ${sql(getTableName(table))}`;
  return { kind, prefix, scope, rows };
}

/** Orders rows `f`: those that are meant before those that begin so, and these before those that hold it. */
export const closest = (sql: SqlTag, text: string): Fragment => sql`
  (f.id = ${text} or lower(f.name) = lower(${text})) desc nulls last, starts_with(lower(f.name), lower(${text})) desc nulls last,
  lower(f.name), f.id desc`;
