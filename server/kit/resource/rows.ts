/**
 * This file reads and writes rows of a plain resource for a caller. Every statement is limited to the teams
 * of the call's TeamScope, so that another team's row is the same as a missing one.
 */
import { and, eq, lt, sql, type SQL } from 'drizzle-orm';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx, TeamScope } from '../context.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../not-found.ts';
import { closePage, openPage, type PageRequest, type PageResult } from '../paging.ts';
import { teams } from './schema.ts';
import { given } from './shown.ts';
import { TableStatements } from './statements.ts';
import { resourceOf, type TeamTable } from './team-table.ts';

export type RowOf<T extends TeamTable> = T['$inferSelect'] & { readonly id: string; readonly teamId: string };
type MadeColumn = 'id' | 'createdAt';
/** `id` and `createdAt` are made unless they are given. */
export type NewRow<T extends TeamTable> = Omit<T['$inferInsert'], MadeColumn> & {
  readonly teamId: string;
  readonly id?: string;
  readonly createdAt?: Date;
};
export type Changes<T extends TeamTable> = Partial<Omit<T['$inferInsert'], 'id' | 'teamId'>>;
/** Also what the database makes of the row as it is. */
type Assigned<T extends TeamTable> = { readonly [Column in keyof Changes<T>]: Changes<T>[Column] | SQL };

/** Caller and its handle of the database: a call, or the call within a transaction. */
export type Who = Pick<Ctx, 'db' | 'teams'>;
type Pager = Who & Pick<Ctx, 'call' | 'cursors'>;
type Maker = Who & Pick<Ctx, 'clock'>;

export interface Query {
  readonly where?: SQL | undefined;
  /** Ties stand in the order of ids. Not a column that may be null. Default: by id, newest first. */
  readonly by?: AnyPgColumn;
  /** Greatest first, with `by`. */
  readonly descending?: boolean;
}

export interface Limit {
  readonly teamId: string;
  readonly max: number;
  /** Subject of the limit, in words. Default: the team, and with `where` all of its rows. */
  readonly of?: string;
  readonly where?: SQL;
  /** The way out, for people. */
  readonly hint?: string;
}

export interface Rows<T extends TeamTable> {
  readonly table: T;
  /** Name for people, such as `build step`. */
  readonly kind: string;
  /** Returns the fields of the request that are set and have a column of their name. */
  changes<Desc extends DescMessage>(schema: Desc, request: MessageShape<Desc>): Changes<T>;
  /** Throws `not_found`, and what scope and role of the call refuse on the row's team. */
  find(who: Who, id: string): Promise<RowOf<T>>;
  /** The same, locked until the transaction ends. */
  lock(who: Who, id: string): Promise<RowOf<T>>;
  /** Lists rows whose number a limit keeps small; `max` is 1,000 unless it is given. */
  list(who: Who, query: Query & { readonly max?: number }): Promise<Array<RowOf<T>>>;
  page(
    who: Pager,
    request: PageRequest & { readonly of: string },
    query: Query,
  ): Promise<PageResult<RowOf<T>>>;
  insert(who: Maker, row: NewRow<T>): Promise<RowOf<T>>;
  /**
   * Returns undefined when there is no such row, or the condition does not hold (any more). Without any
   * column the row stays as it is.
   */
  update(
    who: Who,
    id: string,
    change: { readonly set: Assigned<T>; readonly where?: SQL | undefined },
  ): Promise<RowOf<T> | undefined>;
  /** Returns undefined when there is no such row, or the condition does not hold (any more). */
  remove(who: Who, id: string, where?: SQL): Promise<RowOf<T> | undefined>;
  /**
   * Within a transaction. Makes additions to the team take turns, and throws `limit_reached` when there are
   * `max` rows already.
   */
  atMost(who: Who, limit: Limit): Promise<void>;
}

const LIST_MAX = 1_000;
/** No request changes them. */
const FIXED: ReadonlySet<string> = new Set(['id', 'teamId', 'createdAt']);

/** A condition that holds for the teams that the call reaches. */
export function inTeams(table: Pick<TeamTable, 'teamId'>, scope: TeamScope): SQL {
  return sql`${table.teamId} = any(${sql.param([...scope.teamIds])}::text[])`;
}

export function rowsOf<T extends TeamTable>(table: T): Rows<T> {
  const { kind, prefix } = resourceOf(table);
  const plain: TeamTable = table;
  const statements = new TableStatements(table);
  type Row = RowOf<T>;
  const one = ({ teams: { teamIds } }: Who, id: string, where?: SQL) => ({ teamIds, id, where });
  const visible = (who: Who, row: unknown): Row => {
    if (row === undefined) throw notFound(kind);
    const found = row as Row;
    who.teams.require(found.teamId);
    return found;
  };
  const select = async (
    { db, teams: { teamIds } }: Who,
    { where, by = plain.id, descending = by === plain.id }: Query,
    take: number,
  ): Promise<Row[]> => (await statements.list(db, { teamIds, where }, { by, descending, take })) as Row[];

  return {
    table,
    kind,
    changes: (schema, request) =>
      Object.fromEntries(
        Object.entries(given(schema, request)).filter(([column]) => column in plain && !FIXED.has(column)),
      ) as Changes<T>,
    find: async (who, id) => visible(who, await statements.find(who.db.byKey, one(who, id))),
    lock: async (who, id) => visible(who, await statements.lock(who.db, one(who, id))),
    list: async (who, query) => await select(who, query, query.max ?? LIST_MAX),
    page: async (who, request, query) => {
      const page = openPage(who, request.of, request);
      const after = page.after && behind(plain, query, page.after);
      const found = await select(who, { ...query, where: and(query.where, after) }, page.take);
      const key = query.by && keyName(plain, query.by);
      return closePage(page, found, (row) =>
        key === undefined ? [row.id] : [cursorValue((row as Record<string, unknown>)[key]), row.id],
      );
    },
    insert: async ({ db, teams: scope, clock }, row) => {
      if (!scope.teamIds.includes(row.teamId)) throw notFound('team');
      const now = clock.now();
      const values = { id: newId(prefix, now.getTime()), createdAt: now, ...row };
      return (await statements.insert(db, values)) as Row;
    },
    update: async (who, id, { set, where }) => {
      const reach = one(who, id, where);
      const changed = isEmpty(set) ? statements.find(who.db, reach) : statements.update(who.db, reach, set);
      return (await changed) as Row | undefined;
    },
    remove: async (who, id, where) =>
      (await statements.remove(who.db, one(who, id, where))) as Row | undefined,
    atMost: async (who, limit) => {
      const { teamId, where } = limit;
      await lockTeam(who, teamId);
      const current = await statements.count(who.db, { teamIds: [teamId], where });
      refuseMore(table, { ...limit, current });
    },
  };
}

/** Throws `limit_reached` where there are as many as there may be. */
export function refuseMore(
  table: TeamTable,
  { max, current, of = 'team', hint }: Omit<Limit, 'where'> & { readonly current: number },
): void {
  if (current < max) return;
  const { name, kind } = resourceOf(table);
  const things = name.replaceAll('_', ' ');
  const message = `the ${of} has ${current} ${things}, at most ${max} are allowed`;
  throw apiError('limit_reached', hint === undefined ? message : `${message}; ${hint}`, {
    details: { resource: kind, limit: max, current },
  });
}

/**
 * Changes to what a team has take turns until their transactions end. Rows that refer to the team may be
 * written meanwhile.
 */
export async function lockTeam({ db }: Pick<Who, 'db'>, teamId: string): Promise<void> {
  await db.orm.select({ id: teams.id }).from(teams).where(eq(teams.id, teamId)).for('no key update');
}

function isEmpty(set: object): boolean {
  return Object.values(set).every((value) => value === undefined);
}

function behind(table: TeamTable, { by, descending }: Query, after: ReadonlyArray<string | number>): SQL {
  const [first, id] = after;
  if (by === undefined) return lt(table.id, first);
  const key = sql`(${sql.param(first, by)}, ${sql.param(id, table.id)})`;
  return descending === true ? sql`(${by}, ${table.id}) < ${key}` : sql`(${by}, ${table.id}) > ${key}`;
}

function keyName(table: TeamTable, by: AnyPgColumn): string {
  const found = Object.entries(table).find(([, column]) => column === by);
  if (found === undefined) throw new Error(`${by.name} is no column of ${resourceOf(table).name}`);
  return found[0];
}

function cursorValue(value: unknown): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  throw new Error('lists are ordered by texts and numbers');
}
