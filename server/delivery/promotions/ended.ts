/**
 * The end of promotions that nobody calls for: that of their build, which they are told of by its event, and
 * that of their time.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { and, eq, lt } from 'drizzle-orm';
import { findBuilds } from '../../engine/builds/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { EventEffect } from '../../kit/feature.ts';
import { newId } from '../../base/ids.ts';
import { jobsAdded, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { noteMoves, serviceOf, type Moved, type Mover } from './moved.ts';
import { whyFailed } from './present.ts';
import { promotions } from './schema.ts';
import { promotionRows, type Promotion } from './store.ts';
import { EVIDENCE_JOB } from '../attestations/index.ts';
import type { Changes } from '../../kit/resource/index.ts';

const ENDED_JOB = 'promotions.ended';
const PENDING_MS = 30 * 24 * 60 * 60_000;
/** Promotions that expire in one purge: each is a transaction. */
const EXPIRED_MAX = 500;

interface Ended extends Readonly<Record<string, unknown>> {
  readonly promotionId: string;
  readonly buildId: string;
  readonly state: string;
  readonly reason: string | null;
  readonly url: string | null;
}

/**
 * The CTE `promotions_ended` adds a job for each event of the CTE `published` of a build that deploys a
 * promotion, because the ledger is not written by a statement.
 */
export const ended: EventEffect = (sql) => sql`
  promotions_ended as (${jobsAdded(
    sql,
    ENDED_JOB,
    sql`
      select p.team_id, 'promotion ' || p.id as lane, jsonb_build_object('promotionId', p.id, 'buildId', p.build_id, 'state', e.payload ->> 'state', 'reason', e.payload ->> 'reason', 'url', e.payload -> 'build' ->> 'address') as payload
      from published e join promotions p on p.build_id = e.payload ->> 'workId' and p.team_id = e.team_id where e.kind = 'work.finished'`,
  )})`;

export interface EndedDeps {
  readonly db: Database;
  readonly clock: Clock;
}

// Nothing else ends the promotion once its build is gone.
export const endedJob = (deps: EndedDeps): JobKind<Ended> => ({
  ...EVIDENCE_JOB,
  kind: ENDED_JOB,
  timeoutMs: 30_000,
  run: async (job) => await end(deps, job),
});

async function end({ db, clock }: EndedDeps, { teamId, payload }: Job<Ended>): Promise<void> {
  const { promotionId, buildId, url } = payload;
  const state = payload.state === 'succeeded' ? 'deployed' : 'failed';
  // The build's own words while it is there.
  const build = (await findBuilds(db.sql, systemScope(teamId), [buildId])).get(buildId);
  const why = (build && whyFailed(build)) ?? payload.reason;
  await db.transact(async (tx) => {
    const by = serviceOf(tx, teamId, clock.now());
    const set = { state, url, reason: state === 'failed' ? why : null, endedAt: by.at } as const;
    await moveFrom('approved', by, { id: promotionId, set, word: state });
  });
}

interface Move {
  readonly id: string;
  readonly set: Changes<typeof promotions>;
  readonly word: Moved['word'];
}

async function moveFrom(state: Promotion['state'], by: Mover, { id, set, word }: Move): Promise<void> {
  const promotion = await promotionRows.update(by, id, { set, where: eq(promotions.state, state) });
  if (promotion !== undefined) await noteMoves(by, [{ promotion, word }]);
}

/** Nobody approved them for 30 days; ids sort by time. */
export async function expire({ db }: Pick<EndedDeps, 'db'>, nowMs: number): Promise<void> {
  const old = lt(promotions.id, newId('prm', nowMs - PENDING_MS));
  const due: Promotion[] = await db.orm
    .select()
    .from(promotions)
    .where(and(eq(promotions.state, 'pending'), old))
    .limit(EXPIRED_MAX);
  for (const { id, teamId } of due) {
    await db.transact(async (tx) => {
      const by = serviceOf(tx, teamId, new Date(nowMs));
      const set = { state: 'rejected', rejection: 'expired', endedAt: by.at } as const;
      await moveFrom('pending', by, { id, set, word: 'rejected' });
    });
  }
}
