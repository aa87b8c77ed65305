/** A resource is changed by one transaction with its entry in the ledger. */
import { inArray } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import { withArticle } from '@svc/proto/http/article.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../context.ts';
import { isUniqueViolation } from '../../base/db/index.ts';
import { PLATFORM_CHAIN, recordAct } from '../ledger/index.ts';
import type { Changes, RowOf, Rows } from './rows.ts';
import type { TeamTable } from './team-table.ts';

/** A row of a table in which rows without a team may stand, too. */
interface Target {
  readonly id: string;
  readonly teamId: string | null;
}

type Subject = Pick<Target, 'id'> & Partial<Target>;

export interface Act<Row> {
  /** As the ledger names it: `<thing>.<past participle>`. */
  readonly action: string;
  /**
   * Subject of the entry. Default: the row. What belongs to no team has its entries in the platform's chain.
   */
  readonly on?: Subject;
  /** Returns what the entry says beside the id, which is never a secret. */
  readonly details?: (row: Row) => Readonly<Record<string, unknown>>;
}

/**
 * Does the work and writes its entry in the ledger of the row's team, in one transaction. When the work
 * returns undefined, nothing was changed and there is no entry.
 */
export async function change<Row extends Target | undefined>(
  ctx: Ctx,
  act: Act<NonNullable<Row>>,
  work: (tx: Ctx) => Promise<Row>,
): Promise<Row>;
/** What is no row of a team by itself says what its entry is about. */
export async function change<Result>(
  ctx: Ctx,
  act: Act<NonNullable<Result>> & { readonly on: Subject },
  work: (tx: Ctx) => Promise<Result>,
): Promise<Result>;
export async function change<Row>(
  ctx: Ctx,
  { action, on, details }: Act<NonNullable<Row>>,
  work: (tx: Ctx) => Promise<Row>,
): Promise<Row> {
  return await ctx.db.transact(async (db) => {
    const row = await work({ ...ctx, db });
    if (row !== undefined && row !== null) {
      const { id, teamId } = on ?? (row as Row & Target);
      const entry = { chain: teamId ?? PLATFORM_CHAIN, action, target: id };
      await recordAct(db, ctx, details === undefined ? entry : { ...entry, details: details(row) });
    }
    return row;
  });
}

type StateTable = TeamTable & { readonly state: AnyPgColumn };
type StateOf<T extends StateTable> = T['$inferSelect'] extends { state: infer State } ? State : never;

export interface Transition<T extends StateTable> extends Act<RowOf<T>> {
  readonly rows: Rows<T>;
  readonly id: string;
  readonly from: ReadonlyArray<StateOf<T>>;
  readonly to: StateOf<T>;
  /** Columns that change with the state. */
  readonly set?: Changes<T>;
}

/**
 * One arrow of a state machine, decided and done by one statement: of two that race, the second one finds
 * what the first one made of the row. Said twice it changes nothing; from any other state it is
 * `state_conflict`.
 */
export async function transition<T extends StateTable>(ctx: Ctx, arrow: Transition<T>): Promise<RowOf<T>> {
  const { rows, id, from, to, set } = arrow;
  await rows.find(ctx, id); // Scope and role, before anything is changed.
  const moved = await change<RowOf<T> | undefined>(ctx, arrow as Act<RowOf<T>>, async (tx) =>
    rows.update(tx, id, {
      set: { ...set, state: to } as Changes<T>,
      where: inArray(rows.table.state, [...from]),
    }),
  );
  // Read again: it may have moved since the first look, or be gone with what it belongs to.
  const after = moved ?? (await rows.find(ctx, id));
  if (after['state'] === to) return after;
  const { kind } = rows;
  throw apiError(
    'state_conflict',
    `the ${kind} is ${String(after['state'])}, it becomes ${String(to)} only from ${from.join(' or ')}`,
    { details: { resource: kind, state: after['state'], target: to } },
  );
}

export interface TakenValue {
  /** The unique index that decides. */
  readonly index: string;
  readonly resource: string;
  /** Field and value of the request that are taken. */
  readonly field: string;
  readonly value: string;
}

/** What inserts or renames a row; a name that another row has is `name_taken`. */
export async function unlessTaken<T>(
  work: Promise<T>,
  { index, resource, field, value }: TakenValue,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isUniqueViolation(error, index)) throw error;
    throw apiError(
      'name_taken',
      `there is ${withArticle(resource)} with the ${field} "${value}" already; choose another one`,
      {
        details: { resource, field, value },
        cause: error,
      },
    );
  }
}
