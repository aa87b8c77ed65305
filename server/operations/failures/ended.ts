/**
 * Work has ended: what failed is given its signature, and a build that succeeded says what helped those that
 * failed before it in its environment. Both are jobs of one lane an environment, so that they take turns.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { OUTPUT_MAX } from '@svc/sdk/failure-signature';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { itemStatusOf, OutputReader, tailPosition } from '../../engine/work/index.ts';
import type { EventEffect } from '../../kit/feature.ts';
import { doubling, JobNotYet, keyedJobsAdded, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { greenAfter, greenBefore, readItem, type Item } from './item.ts';
import { keepFailure } from './keep.ts';
import type { Reasons } from './reasons.ts';
import { resolveBy } from './resolve.ts';

export const ENDED_JOB = 'failures.ended';
/** Output may still come for a while after the end. */
const OUTPUT_WAIT_MS = 1_000;

/** The CTE `failures_ended` adds a job for each event of `published` of work that failed or was green. */
export const ended: EventEffect = (sql) => sql`
  failures_ended as (${keyedJobsAdded(
    sql,
    { kind: ENDED_JOB, inMs: 0 },
    sql`
      select e.team_id, 'failures ' || coalesce(b.environment_id, e.dedupe_key) as lane, e.dedupe_key as key,
        jsonb_build_object('workId', e.dedupe_key) as payload
      from published e left join builds b on b.id = e.payload ->> 'buildId' and b.team_id = e.team_id
      where e.kind = 'work.finished' and (e.payload ->> 'state' in ('failed', 'dead') or e.payload ->> 'state' = 'succeeded' and b.id is not null)`,
  )})`;

export interface EndedDeps {
  readonly db: Database;
  readonly reasons: Reasons;
}

type Ended = { readonly workId: string };

export const endedJob = (deps: EndedDeps): JobKind<Ended> => ({
  kind: ENDED_JOB,
  attempts: 5,
  backoff: doubling(5_000, 600_000),
  concurrency: 2,
  perTeam: 1,
  timeoutMs: 60_000,
  run: async (job) => await take(deps, job),
});

async function take({ db, reasons }: EndedDeps, { teamId, payload }: Job<Ended>): Promise<void> {
  const { sql } = db;
  const item = await readItem(sql, { teamId, workId: payload.workId });
  if (item === undefined) return;
  if (item.state === 'succeeded') return await resolveBy(sql, item);
  if ((await itemStatusOf(sql, item.workId))?.settled === false) throw new JobNotYet(OUTPUT_WAIT_MS);
  const green = await greenBefore(sql, item);
  const found = await reasons.of({
    output: saysWhy(item) ? await outputOf(sql, item.workId) : '',
    greenOutput: green === undefined ? '' : await outputOf(sql, green),
    kind: item.kind,
    phase: item.phase ?? '',
    message: item.message ?? item.reason ?? item.state,
  });
  if (found === undefined) return;
  await keepFailure(db, item, found);
  // One that was green before this was kept has looked already.
  const after = await greenAfter(sql, item);
  if (after !== undefined) await resolveBy(sql, after);
}

/** The output says why a program ended; why the platform ended it, its own word says. */
const saysWhy = ({ reason }: Item): boolean => reason === 'exit' || reason === null;

/** The end of what the last attempt printed. */
async function outputOf(sql: SqlTag, workId: string): Promise<string> {
  const reader = await OutputReader.at(sql, workId, await tailPosition(sql, workId, OUTPUT_MAX));
  const texts: string[] = [];
  for await (const { text } of reader.rest()) texts.push(text);
  return texts.join('');
}
