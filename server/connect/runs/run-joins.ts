/**
 * Runs that turn out to be one: the CI job reported it under one name, the webhook under another, and now a
 * webhook has both.
 */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import { join } from './accept.ts';
import { moveJobs } from './record-jobs.ts';
import { addName, lockNames, realId, unknownNames } from './run-names.ts';
import { lockNamed, rewriteRun } from './record-runs.ts';
import type { Run, RunRecording } from './run.ts';

/** These are the ids of two runs that were one. */
export interface JoinedRuns {
  readonly stays: string;
  readonly goes: string;
}

type OnJoined = (joined: JoinedRuns) => Promise<void>;

/**
 * Learns other names of a run. A name that leads to another run already stays with it, because names come
 * twice where they are not unique. Must be called before anything else of the transaction that concerns runs;
 * see lockNames.
 */
export async function learnNames(
  recording: RunRecording,
  { externalRunId, aliases }: { readonly externalRunId: string; readonly aliases: readonly string[] },
  onJoined: OnJoined,
): Promise<void> {
  const { db, connection } = recording;
  const others = aliases.filter((alias) => alias !== externalRunId);
  if (others.length === 0 || (await unknownNames(db, connection.id, others)).length === 0) return;
  await lockNames(db, connection);
  const real = await realId(db, connection.id, externalRunId);
  for (const alias of await unknownNames(db, connection.id, others)) {
    if (alias === real) continue;
    await joinNames(recording, { alias, real, onJoined });
    await addName(db, connection.id, { alias, externalRunId: real });
  }
}

/** Joins every attempt that is known under the alias to the same attempt under the real name. */
async function joinNames(
  recording: RunRecording,
  { alias, real, onJoined }: { alias: string; real: string; onJoined: OnJoined },
): Promise<void> {
  const { db, connection } = recording;
  const attempts = await db.sql<Array<{ externalAttempt: number }>>`
    select external_attempt as "externalAttempt" from ci_runs where connection_id = ${connection.id} and external_run_id = ${alias}`;
  for (const { externalAttempt } of attempts) {
    const lesser = await lockNamed(db, connection, { externalRunId: alias, externalAttempt });
    if (lesser === undefined) continue;
    const known = await lockNamed(db, connection, { externalRunId: real, externalAttempt });
    if (known === undefined) await rewriteRun(recording, { ...lesser, externalRunId: real });
    else await onJoined(await joinRuns(recording, [lesser, known], real));
  }
}

/** The older one stays, so that its place in lists does too. */
async function joinRuns(
  recording: RunRecording,
  [a, b]: readonly [Run, Run],
  externalRunId: string,
): Promise<JoinedRuns> {
  const aIsOlder =
    a.createdAt < b.createdAt || (a.createdAt.getTime() === b.createdAt.getTime() && a.id < b.id);
  const [stays, goes] = aIsOlder ? [a, b] : [b, a];
  const {
    db: { sql },
  } = recording;
  await moveJobs(recording, goes, stays);
  await sql`update ci_run_joins set run_id = ${stays.id} where run_id = ${goes.id}`;
  await sql`insert into ci_run_joins (id, run_id) values (${goes.id}, ${stays.id})`;
  await sql`delete from ci_runs where id = ${goes.id}`;
  const joined = {
    ...stays,
    externalRunId,
    state: join(stays.state, goes.state),
    startedAt: earliest(stays.startedAt, goes.startedAt),
    finishedAt: earliest(stays.finishedAt, goes.finishedAt),
  };
  await rewriteRun(recording, joined);
  return { stays: stays.id, goes: goes.id };
}

/** The time of receipt stands in for one that the provider did not report: the first one of two. */
function earliest(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
