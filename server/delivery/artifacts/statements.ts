/** Shows what is stated about an artifact, and takes what others bring. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { and, eq, inArray, or } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { problem } from '@svc/proto/http/json-text.ts';
import { AttestationSchema } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { isUniqueViolation } from '../../base/db/index.ts';
import { auditActor } from '../../kit/ledger/index.ts';
import { requireRole } from '../../kit/authorise.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, rowsOf, shown } from '../../kit/resource/index.ts';
import {
  addSubjects,
  attestations,
  attestationSubjects,
  bundleJson,
  isEvaluation,
  prepareBundle,
  readBundle,
  refuseMoreUploads,
  signedKey,
  statementProblem,
  storeAttestation,
  takeBundle,
  uploadCountsAs,
  verifyBundle,
  type Attestation,
  type Keys,
  type ListedAttestation,
  type ReadBundle,
  type Statement,
} from '../attestations/index.ts';

const attestationRows = rowsOf(attestations);

interface Uploading {
  readonly teamId: string;
  readonly digest: string;
  /** As the request has it. */
  readonly text: string;
}

/** Base64 of the beginning of a gzip file; JSON begins otherwise. */
const PACKED_BEGINNING = 'H4sI';

/** Throws `validation_failed` for what is neither JSON nor base64. */
function bytesOf(text: string): Uint8Array {
  if (!text.startsWith(PACKED_BEGINNING)) return Buffer.from(text, 'utf8');
  const bytes = Buffer.from(text, 'base64');
  const { length } = text.replace(/={1,2}$/, '');
  // What is no base64 is skipped, so that less comes out of it.
  if (length % 4 !== 1 && bytes.length === Math.floor((length * 3) / 4)) return bytes;
  throw problem('bundle', 'base64', 'begins as a gzip in base64, and is not base64 in one line to its end');
}

export async function upload(
  ctx: Ctx,
  keys: Keys,
  { teamId, digest, text }: Uploading,
): Promise<{ readonly stored: Attestation; readonly digests: readonly string[] }> {
  const bundle = await takeBundle(bytesOf(text), keys);
  const read = checked(bundle);
  const { statement, sha256 } = read;
  const { predicateType } = statement;
  const digests = [...new Set(statement.digests)].toSorted();
  if (!digests.includes(digest)) throw aboutElse(digests, digest);
  // One name for it, at whichever of its subjects it is brought.
  const [about = digest] = digests;
  const expected = { digest, storedAt: ctx.clock.now(), isOurs: false };
  const verified = verifyBundle(bundle, keys, expected);
  const countsAs = uploadCountsAs(verified);
  const dedupeKey =
    countsAs === null
      ? `upload:${about}:${Buffer.from(sha256).toString('hex')}`
      : signedKey(about, verified, read.payloadSha256());
  const known = async (): Promise<Attestation | undefined> =>
    await knownUpload(ctx, { digest, sha256, dedupeKey });
  const before = await known();
  if (before !== undefined) {
    // It may have been brought to a version that kept it at one of its subjects alone.
    await addSubjects(ctx.db, { teamId, attestationId: before.id, digests });
    return { stored: before, digests };
  }
  const actor = auditActor(ctx);
  const said = { teamId, predicateType, source: 'upload', bundle, sha256, dedupeKey, brief: null } as const;
  const row = { ...said, uploadedBy: ctx.caller.userId, countsAs };
  const entry = { action: 'attestation.uploaded', actor, requestId: ctx.call.requestId };
  try {
    return await ctx.db.transact(async (db) => {
      const doesCount = countsAs !== null;
      await refuseMoreUploads({ ...ctx, db }, { teamId, digest, doesCount, subjects: digests.length });
      const stored = await storeAttestation(db, row, { digests, at: ctx.clock.now(), entry });
      return { stored, digests };
    });
  } catch (error) {
    const first = isUniqueViolation(error, 'attestations_once') ? await known() : undefined;
    if (first === undefined) throw error;
    return { stored: first, digests };
  }
}

/** Digests that a message names. */
const NAMED_MAX = 5;

function aboutElse(digests: readonly string[], digest: string): Error {
  const more = digests.length > NAMED_MAX ? ` and ${digests.length - NAMED_MAX} more` : '';
  const subjects =
    digests.length === 0
      ? `the statement names no subject by a SHA-256, expected ${digest}`
      : `the statement is about ${digests.slice(0, NAMED_MAX).join(', ')}${more}, not about ${digest}`;
  return apiError('attestation_subject_mismatch', subjects, { details: { digest } });
}

const aboutDigest = ({ db, teams }: Ctx, digest: string) =>
  db.orm
    .select({ id: attestationSubjects.attestationId })
    .from(attestationSubjects)
    .where(
      and(inArray(attestationSubjects.teamId, [...teams.teamIds]), eq(attestationSubjects.digest, digest)),
    );

/** The same bytes, or the same statement with the same trusted signature. */
async function knownUpload(
  ctx: Ctx,
  { digest, sha256, dedupeKey }: { readonly digest: string } & Pick<Attestation, 'sha256' | 'dedupeKey'>,
): Promise<Attestation | undefined> {
  const isHere = and(eq(attestations.sha256, sha256), inArray(attestations.id, aboutDigest(ctx, digest)));
  const where = and(eq(attestations.source, 'upload'), or(eq(attestations.dedupeKey, dedupeKey), isHere));
  const [row] = await attestationRows.list(ctx, { where, max: 1 });
  return row;
}

function checked(bundle: Uint8Array): ReadBundle {
  try {
    const read = readBundle(bundle);
    const wrong = statementProblem(read.statement);
    if (wrong !== undefined) throw new Error(wrong);
    return read;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw apiError('attestation_invalid', `the bundle cannot be taken: ${why}`);
  }
}

interface Removing {
  readonly teamId: string;
  readonly artifactId: string;
  readonly digest: string;
  readonly attestationId: string;
}

/**
 * Removes a statement at each of its subjects, whose digests are answered. What the service states by itself
 * is never removed.
 */
export async function removeAttestation(
  ctx: Ctx,
  keys: Keys,
  { teamId, artifactId, digest, attestationId }: Removing,
): Promise<readonly string[]> {
  const [row] = await attestationRows.list(ctx, {
    where: and(eq(attestations.id, attestationId), inArray(attestations.id, aboutDigest(ctx, digest))),
    max: 1,
  });
  if (row === undefined) throw notFound('attestation');
  const { bundle, source, predicateType, uploadedBy, createdAt: storedAt } = row;
  const isOurs = source === 'platform';
  if (isOurs && !isEvaluation(predicateType))
    throw apiError(
      'state_conflict',
      `attestation ${attestationId} was made by the service itself, and stays`,
      {
        details: { resource: 'attestation' },
      },
    );
  await prepareBundle(bundle, keys);
  const { status, statement } = verifyBundle(bundle, keys, { digest, storedAt, isOurs });
  // A key that is revoked, or not trusted any more, may have let something pass.
  const isEvidence = isOurs || row.countsAs !== null || status === 'valid';
  const isOwn = !isEvidence && uploadedBy === ctx.caller.userId;
  if (!isOwn) requireRole(ctx.teams.role(teamId), 'admin', { act: 'removing what others stated' });
  if (isEvidence && ctx.caller.kind !== 'session')
    throw apiError(
      'session_required',
      'removing evidence needs a session of the account itself, an API key cannot do it; sign in first',
    );
  const sha256 = Buffer.from(row.sha256).toString('hex');
  const details = () => ({ artifactId, digest, predicateType, sha256, status });
  await change(ctx, { action: 'attestation.removed', details }, async (tx) =>
    attestationRows.remove(tx, attestationId),
  );
  return statement?.digests ?? [digest];
}

/** Presents one after the other: a certificate that was not seen before takes milliseconds. */
export async function presentAll(rows: readonly ListedAttestation[], digest: string, keys: Keys) {
  const all: Array<Awaited<ReturnType<typeof presentAttestation>>> = [];
  for (const row of rows) {
    all.push(await presentAttestation(row, digest, keys));
    await nextTurn();
  }
  return all;
}

/** The predicate of a large one is not kept: its bundle has it. */
const isWhole = (statement: Statement | undefined): statement is Statement =>
  statement !== undefined && 'predicate' in statement.json;

export async function presentAttestation(row: ListedAttestation, digest: string, keys: Keys) {
  const { bundle, createdAt: storedAt, teamId, ledgerSeq } = row;
  await prepareBundle(bundle, keys);
  const verified = verifyBundle(bundle, keys, { digest, storedAt, isOurs: row.source === 'platform' });
  const { statement, ...verification } = verified;
  return shown(AttestationSchema, row, {
    verification,
    statement: isWhole(statement) ? (statement.json as JsonObject) : undefined,
    bundle: await bundleJson(bundle),
    sha256: Buffer.from(row.sha256).toString('hex'),
    ledger: { chain: teamId, seq: ledgerSeq },
  });
}
