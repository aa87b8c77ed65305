/**
 * Tells the ledger of each deployment, so that one that is taken out of the table is missed: a row is gone
 * without a trace, an entry is not.
 */
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../../kit/feature.ts';
import { hasJobs, jobsAdded, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { appendAudit } from '../../kit/ledger/index.ts';
import { serviceOf } from './moved.ts';
import { EVIDENCE_JOB } from '../attestations/index.ts';

const TOLD_JOB = 'deployments.told';

interface DeploymentTold extends Readonly<Record<string, unknown>> {
  readonly environmentId: string;
  readonly buildId: string;
  readonly number: number;
  readonly digest: string;
  readonly deployedAt: string;
}

/**
 * The CTE `deployments_told` adds a job for each event of the CTE `published` of a build that deployed,
 * because the ledger is not written by a statement.
 */
export const told: EventEffect = (sql) => sql`
  deployments_told as (${jobsAdded(
    sql,
    TOLD_JOB,
    sql`
      select e.team_id, 'deployment ' || (b.value ->> 'id') as lane, jsonb_build_object('environmentId', b.value ->> 'environmentId', 'buildId', b.value ->> 'id',
        'number', (b.value ->> 'number')::int, 'digest', b.value ->> 'digest', 'deployedAt', b.value ->> 'finishedAt') as payload
      from published e join teams t on t.id = e.team_id, lateral (select e.payload -> 'build' as value) b
      where e.kind in ('work.finished', 'build.reported_late') and b.value -> 'deployed' = 'true'`,
  )})`;

export const toldJob = (db: Database): JobKind<DeploymentTold> => ({
  ...EVIDENCE_JOB,
  kind: TOLD_JOB,
  timeoutMs: 30_000,
  run: async (job) => await tell(db, job),
});

/** A job that runs twice leaves two entries, which name one build. */
async function tell(db: Database, { teamId, payload }: Job<DeploymentTold>): Promise<void> {
  const { environmentId: target, buildId, number, digest, deployedAt } = payload;
  const at = new Date(deployedAt);
  await db.transact(async (tx) => {
    const { actor, requestId } = serviceOf(tx, teamId, at);
    const details = { buildId, number, digest, deployedAt: at.toISOString() };
    await appendAudit(tx, { chain: teamId, actor, action: 'build.deployed', target, details, requestId }, at);
  });
}

/** Tells whether the ledger has yet to be told of a deployment of a team. */
export const isTelling = async (sql: SqlTag, teamId: string): Promise<boolean> =>
  await hasJobs(sql, { kind: TOLD_JOB, teamId });
