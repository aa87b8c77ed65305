/** This file runs one effect in a savepoint of its own. */
import { isRefusal, type Database, type SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../feature.ts';
import type { Fragment } from '../../base/sql.ts';

export interface EffectsDeps {
  readonly db: Database;
  readonly effects: readonly EventEffect[];
  onError(error: unknown): void;
}

export interface Pass {
  readonly count: number;
  /** There are more, most likely. */
  readonly isMore: boolean;
}

/** What is checked at the commit would undo all effects. */
export async function checkAtOnce(sql: SqlTag): Promise<void> {
  await sql.unsafe('set constraints all immediate');
}

/** Returns why the database refused it; then nothing of it is done. */
export async function attempt(
  sql: SqlTag,
  effect: EventEffect,
  events: Fragment,
): Promise<Error | undefined> {
  await sql.unsafe('savepoint effect');
  try {
    await sql`with published as materialized (${events}), ${effect(sql)} select 1`;
    await sql.unsafe('release savepoint effect');
    return undefined;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await sql.unsafe('rollback to savepoint effect');
    return error as Error;
  }
}
