/**
 * Statements that came before their key was trusted: when a key or an identity is, it is found out which of
 * them count from then on. Those of older versions are found out about once.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { Ctx } from '../../kit/context.ts';
import { systemScope } from '../../kit/authorise.ts';
import { isUniqueViolation, type Database } from '../../base/db/index.ts';
import { addJob, doubling, type JobKind } from '../../kit/jobs/index.ts';
import { evaluationCountsAs, signedKey, uploadCountsAs } from './counted.ts';
import { prepareBundle } from './large.ts';
import { keysFor } from './keys.ts';
import { readBundle } from './read-bundle.ts';
import type { Attestation } from './read.ts';
import { isEvaluation } from './statement.ts';
import type { TrustRoot } from './trust-root.ts';
import { verifyBundle, type Keys } from './verify.ts';

const RECOUNT_JOB = 'attestations.recount';
/** Bundles that are read at once, of 2.25 MiB at most. */
const PIECE = 5;
/** So many are looked at within the call that trusts a key. */
const AT_ONCE_MAX = 100;

interface Row extends Pick<Attestation, 'id' | 'source' | 'predicateType' | 'bundle' | 'createdAt'> {
  readonly digest: string;
}

export interface Recounting {
  readonly db: Database;
  readonly clock: Clock;
  readonly root: TrustRoot | undefined;
}

export function recountJob({ db, clock, root }: Recounting): JobKind {
  return {
    kind: RECOUNT_JOB,
    attempts: 100,
    backoff: doubling(1_000, 600_000),
    concurrency: 1,
    perTeam: 1,
    timeoutMs: 600_000,
    run: async ({ teamId }) => {
      const keys = await keysFor({ db, teams: systemScope(teamId) }, { now: clock.now(), root });
      await recount(db, { teamId, keys });
    },
  };
}

/** Adds the job that looks at all statements again, in the transaction that trusts a key. */
export async function recountDue(db: Database, teamId: string): Promise<void> {
  await addJob(db, { teamId, kind: RECOUNT_JOB, key: teamId, lane: `attestations ${teamId}` });
}

/** Looks at the newest at once, so that whoever trusts a key sees at the next gate what it signed. */
export async function recountNewest(ctx: Ctx, teamId: string, root: TrustRoot | undefined): Promise<void> {
  const keys = await keysFor(ctx, { now: ctx.clock.now(), root });
  await recount(ctx.db, { teamId, keys, max: AT_ONCE_MAX });
}

/** The newest are counted first. */
async function recount(
  db: Database,
  { teamId, keys, max = Infinity }: { readonly teamId: string; readonly keys: Keys; readonly max?: number },
): Promise<void> {
  let last: string | null = null;
  for (let seen = 0; seen < max; seen += PIECE) {
    const rows: readonly Row[] = await uncounted(db, teamId, last);
    for (const row of rows) {
      await count(db, { teamId, keys }, row);
      await nextTurn();
    }
    if (rows.length < PIECE) return;
    last = rows.at(-1)?.id ?? null;
  }
}

async function uncounted({ sql }: Database, teamId: string, last: string | null): Promise<readonly Row[]> {
  return await sql<Row[]>`
    select a.id, a.source, a.predicate_type as "predicateType", a.bundle, a.created_at as "createdAt", s.digest
    from attestations a cross join lateral (select digest from attestation_subjects s where s.attestation_id = a.id order by digest limit 1) s
    where a.team_id = ${teamId} and a.counts_as is null and (${last}::text is null or a.id < ${last}::text)
    order by a.id desc limit ${PIECE}::int`;
}

async function count(
  { sql }: Database,
  { teamId, keys }: { readonly teamId: string; readonly keys: Keys },
  { id, source, predicateType, bundle, createdAt, digest }: Row,
): Promise<void> {
  await prepareBundle(bundle, keys);
  if (source === 'platform') {
    const countsAs = ownCountsAs(predicateType, bundle);
    if (countsAs !== undefined) await sql`update attestations set counts_as = ${countsAs} where id = ${id}`;
    return;
  }
  const verified = verifyBundle(bundle, keys, { digest, storedAt: createdAt, isOurs: false });
  const countsAs = uploadCountsAs(verified);
  if (countsAs === null) return;
  const key = signedKey(digest, verified, readBundle(bundle).payloadSha256());
  // What is there already in other bytes counts once.
  await sql`
    update attestations set counts_as = ${countsAs}, dedupe_key = ${key}
    where id = ${id} and not exists (select from attestations t where t.team_id = ${teamId} and t.dedupe_key = ${key})`.catch(
    (error: unknown) => {
      // It was uploaded in the meantime.
      if (!isUniqueViolation(error, 'attestations_once')) throw error;
    },
  );
}

/**
 * Answers what a statement of an older version counts as. Undefined: its bytes are no statement any more,
 * which its verification says.
 */
function ownCountsAs(predicateType: string, bundle: Uint8Array): string | undefined {
  try {
    const { hint, statement } = readBundle(bundle);
    if (!isEvaluation(predicateType)) return hint;
    const { statedBy, suiteId } = statement.json['predicate'] as Readonly<Record<string, unknown>>;
    return evaluationCountsAs(String(statedBy), String(suiteId));
  } catch {
    return undefined;
  }
}
