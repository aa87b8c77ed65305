/** Runs that turn out to be one: the CI job told of it under one name, the webhook under another, and now the webhook tells both. */
import type { Database } from '../../platform/db/index.ts';
import { join } from './accept.ts';
import type { Connection } from './model/connection.ts';
import { moveJobs } from './jobs-store.ts';
import { addName, lockNames, realId, unknownNames } from './run-names.ts';
import { readNamed, rewriteRun } from './runs-store.ts';
import type { Run } from './model/run.ts';

/**
 * Learns other names of a run. A name that leads to another run already stays with it, because names are told twice where they are not unique. Must be
 * called before anything else of the transaction that concerns runs; see lockNames.
 */
export async function learnNames(
  db: Database,
  connection: Connection,
  externalRunId: string,
  aliases: readonly string[],
  now: Date,
): Promise<void> {
  const others = aliases.filter((alias) => alias !== externalRunId);
  if (others.length === 0 || (await unknownNames(db, connection.id, others)).length === 0) return;
  await lockNames(db, connection);
  const real = await realId(db, connection.id, externalRunId);
  for (const alias of await unknownNames(db, connection.id, others)) {
    if (alias === real) continue;
    await joinNames(db, connection, alias, real, now);
    await addName(db, connection.id, alias, real);
  }
}

/** Every attempt that is known under the lesser name. */
async function joinNames(
  db: Database,
  connection: Connection,
  alias: string,
  real: string,
  now: Date,
): Promise<void> {
  const attempts = await db.sql<Array<{ externalAttempt: number }>>`
    select external_attempt as "externalAttempt" from ci_runs where connection_id = ${connection.id} and external_run_id = ${alias}`;
  for (const { externalAttempt } of attempts) {
    const lesser = await readNamed(db, connection, { externalRunId: alias, externalAttempt }, true);
    if (lesser === undefined) continue;
    const known = await readNamed(db, connection, { externalRunId: real, externalAttempt }, true);
    if (known === undefined) await rewriteRun(db, connection, { ...lesser, externalRunId: real }, now);
    else await joinRuns(db, connection, [lesser, known], real, now);
  }
}

/** The older one stays, so that its place in lists does too. */
async function joinRuns(
  db: Database,
  connection: Connection,
  runs: readonly [Run, Run],
  externalRunId: string,
  now: Date,
): Promise<void> {
  const [a, b] = runs;
  const aIsOlder =
    a.createdAt < b.createdAt || (a.createdAt.getTime() === b.createdAt.getTime() && a.id < b.id);
  const [stays, goes] = aIsOlder ? [a, b] : [b, a];
  const { sql } = db;
  await moveJobs(db, goes, stays, now);
  await sql`update ci_run_joins set run_id = ${stays.id} where run_id = ${goes.id}`;
  await sql`insert into ci_run_joins (id, run_id) values (${goes.id}, ${stays.id})`;
  await sql`update ci_deliveries set run_id = ${stays.id} where connection_id = ${connection.id} and run_id = ${goes.id}`;
  await sql`delete from ci_runs where id = ${goes.id}`;
  const joined = {
    ...stays,
    externalRunId,
    state: join(stays.state, goes.state),
    startedAt: earliest(stays.startedAt, goes.startedAt),
    finishedAt: earliest(stays.finishedAt, goes.finishedAt),
  };
  await rewriteRun(db, connection, joined, now);
}

/** Receipt stands in for what a provider did not say: of two receipts the first. */
function earliest(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
