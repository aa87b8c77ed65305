/** What is stated about an artifact: how it is shown, and what others bring. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { and, eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { AttestationSchema } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { Ctx } from '../../platform/context.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { auditActor } from '../../platform/ledger/index.ts';
import { rowsOf, shown } from '../../platform/resource/index.ts';
import {
  attestations,
  attestationSubjects,
  readEnvelope,
  readStatement,
  storeAttestation,
  verifyBundle,
} from '../attestations/index.ts';
import type { Attestation, Keys, ListedAttestation } from '../attestations/index.ts';

const STATEMENTS_MAX = 1_000;

const attestationRows = rowsOf(attestations);

interface Uploading {
  readonly teamId: string;
  readonly digest: string;
  readonly bundle: Uint8Array;
}

export async function upload(ctx: Ctx, { teamId, digest, bundle }: Uploading): Promise<Attestation> {
  const { digests, predicateType } = statementOf(bundle);
  if (!digests.includes(digest))
    throw apiError(
      'attestation_subject_mismatch',
      `the statement is about ${digests.join(', ')}, not about ${digest}`,
      {
        details: { digest },
      },
    );
  const dedupeKey = `upload:${digest}:${createHash('sha256').update(bundle).digest('hex')}`;
  const known = async (): Promise<Attestation | undefined> =>
    (await attestationRows.list(ctx, { where: eq(attestations.dedupeKey, dedupeKey), max: 1 }))[0];
  const before = await known();
  if (before !== undefined) return before;
  const actor = await auditActor(ctx);
  const row = {
    teamId,
    predicateType,
    source: 'upload',
    bundle,
    dedupeKey,
    uploadedBy: ctx.caller.userId,
  } as const;
  const entry = { action: 'attestation.uploaded', actor, requestId: ctx.call.requestId };
  try {
    return await ctx.db.transact(async (db) => {
      await refuseMore({ ...ctx, db }, teamId, digest);
      return await storeAttestation(db, row, { digests: [digest], at: ctx.clock.now(), entry });
    });
  } catch (error) {
    const first = isUniqueViolation(error, 'attestations_once') ? await known() : undefined;
    if (first === undefined) throw error;
    return first;
  }
}

function statementOf(bundle: Uint8Array) {
  try {
    return readStatement(readEnvelope(bundle));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw apiError('attestation_invalid', `the bundle cannot be taken: ${why}`);
  }
}

/** Made by callers: what the service states by itself is not counted against anybody. */
export async function refuseMore({ db }: Ctx, teamId: string, digest: string): Promise<void> {
  const about = and(eq(attestationSubjects.teamId, teamId), eq(attestationSubjects.digest, digest));
  const current = await db.orm.$count(attestationSubjects, about);
  if (current < STATEMENTS_MAX) return;
  throw apiError(
    'limit_reached',
    `the artifact has ${current} attestations, at most ${STATEMENTS_MAX} are kept`,
    {
      details: { resource: 'attestation', limit: STATEMENTS_MAX, current },
    },
  );
}

/** Undefined: it is no JSON any more, which its verification says. */
export function bundleJson(bundle: Uint8Array): JsonObject | undefined {
  try {
    return JSON.parse(Buffer.from(bundle).toString('utf8')) as JsonObject;
  } catch {
    return undefined;
  }
}

/** One after the other: a certificate that was not seen before takes milliseconds. */
export async function presentAll(rows: readonly ListedAttestation[], digest: string, keys: Keys) {
  const all: Array<ReturnType<typeof presentAttestation>> = [];
  for (const row of rows) {
    all.push(presentAttestation(row, digest, keys));
    await nextTurn();
  }
  return all;
}

export function presentAttestation(row: ListedAttestation, digest: string, keys: Keys) {
  const { bundle, createdAt: storedAt, teamId, ledgerSeq } = row;
  const verified = verifyBundle(bundle, keys, { digest, storedAt, isOurs: row.source === 'platform' });
  const { statement, ...verification } = verified;
  return shown(AttestationSchema, row, {
    verification,
    statement: statement?.json as JsonObject | undefined,
    bundle: bundleJson(bundle),
    sha256: Buffer.from(row.sha256).toString('hex'),
    ledger: { chain: teamId, seq: ledgerSeq },
  });
}
