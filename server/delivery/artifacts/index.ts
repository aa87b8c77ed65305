/** Artifacts: what was built, of what, by whom, and what is stated about it. */
import type { JsonObject } from '@bufbuild/protobuf';
import { and, asc, eq, inArray } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  ArtifactKindSchema,
  ArtifactSchema,
  ArtifactsService,
  AttestationSchema,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { DeclareRequest } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import { projectRows } from '../../apps/projects/index.ts';
import type { Ctx } from '../../platform/context.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import type { Feature, System } from '../../platform/feature.ts';
import { auditActor } from '../../platform/ledger/index.ts';
import { change, enumWord, rowsOf, shown } from '../../platform/resource/index.ts';
import type { RowOf } from '../../platform/resource/index.ts';
import {
  attestations,
  attestationSubjects,
  keysFor,
  readEnvelope,
  readStatement,
  storeAttestation,
  verifyBundle,
} from '../attestations/index.ts';
import type { Attestation, Keys } from '../attestations/index.ts';
import type { Signer } from '../signingkeys/index.ts';
import { catalogued, catalogueJob } from './catalogue.ts';
import { recordArtifact } from './record.ts';
import { artifacts, artifactSources } from './schema.ts';

type Artifact = RowOf<typeof artifacts>;

const ARTIFACTS_MAX = 200_000;
const SOURCES_SHOWN_MAX = 100;
const UPLOADS_MAX = 1_000;

const rows = rowsOf(artifacts);
const attestationRows = rowsOf(attestations);

export function createArtifacts(): Handlers<Ctx> {
  return implement(ArtifactsService, {
    list: async (request, ctx: Ctx) => {
      const { teamId, kind, projectId, commit } = request;
      const where = and(
        eq(artifacts.teamId, teamId),
        kind === undefined
          ? undefined
          : eq(artifacts.kind, enumWord(ArtifactKindSchema, kind) as Artifact['kind']),
        fromSource(
          ctx,
          teamId,
          projectId === undefined ? undefined : eq(artifactSources.projectId, projectId),
        ),
        fromSource(ctx, teamId, commit === undefined ? undefined : eq(artifactSources.commit, commit)),
      );
      const of = [teamId, kind ?? '', projectId ?? '', commit ?? ''].join(' ');
      const { items, ...page } = await rows.page(ctx, { ...request, of }, { where });
      return { ...page, artifacts: items.map((row) => shown(ArtifactSchema, row)) };
    },
    get: async ({ teamId, artifactId }, ctx: Ctx) => await present(ctx, await find(ctx, teamId, artifactId)),
    declare: async (request, ctx: Ctx) => await present(ctx, await declare(ctx, request)),
    attestations: async (request, ctx: Ctx) => {
      const { id, teamId, digest } = await find(ctx, request.teamId, request.artifactId);
      const about = ctx.db.orm
        .select({ id: attestationSubjects.attestationId })
        .from(attestationSubjects)
        .where(and(eq(attestationSubjects.teamId, teamId), eq(attestationSubjects.digest, digest)));
      const [keys, { items, ...page }] = await Promise.all([
        keysFor(ctx, ctx.clock.now()),
        attestationRows.page(ctx, { ...request, of: id }, { where: inArray(attestations.id, about) }),
      ]);
      return { ...page, attestations: items.map((row) => presentAttestation(row, digest, keys)) };
    },
    upload: async ({ teamId, artifactId, bundle }, ctx: Ctx) => {
      const { digest } = await find(ctx, teamId, artifactId);
      const stored = await upload(ctx, { teamId, digest, bundle: Buffer.from(bundle, 'utf8') });
      return presentAttestation(stored, digest, await keysFor(ctx, ctx.clock.now()));
    },
  });
}

/** Artifacts with a source for which `where` holds; undefined: any. */
function fromSource({ db }: Ctx, teamId: string, where: ReturnType<typeof eq> | undefined) {
  if (where === undefined) return undefined;
  const sources = db.orm
    .select({ id: artifactSources.artifactId })
    .from(artifactSources)
    .where(and(eq(artifactSources.teamId, teamId), where));
  return inArray(artifacts.id, sources);
}

/** By its id or its digest. */
async function find(ctx: Ctx, teamId: string, idOrDigest: string): Promise<Artifact> {
  if (!idOrDigest.startsWith('sha256:')) return await rows.find(ctx, idOrDigest);
  const where = and(eq(artifacts.teamId, teamId), eq(artifacts.digest, idOrDigest));
  const [row] = await rows.list(ctx, { where, max: 1 });
  return row ?? (await rows.find(ctx, ''));
}

async function present({ db }: Ctx, row: Artifact) {
  const sources = await db.orm
    .select()
    .from(artifactSources)
    .where(and(eq(artifactSources.teamId, row.teamId), eq(artifactSources.artifactId, row.id)))
    .orderBy(asc(artifactSources.at), asc(artifactSources.ref))
    .limit(SOURCES_SHOWN_MAX);
  return shown(ArtifactSchema, { ...row, sources });
}

async function declare(ctx: Ctx, request: DeclareRequest): Promise<Artifact> {
  const { teamId, digest, name, uri, mediaType, projectId, repository, commit } = request;
  const kind = enumWord(ArtifactKindSchema, request.kind) as Artifact['kind'];
  const project = projectId === undefined ? undefined : await projectRows.find(ctx, projectId);
  const details = ({ digest: of }: Artifact) => ({ digest: of, name, kind });
  return await change(ctx, { action: 'artifact.declared', details }, async (tx) => {
    await rows.atMost(tx, { teamId, max: ARTIFACTS_MAX });
    const source = {
      origin: 'declared',
      ref: ctx.caller.userId,
      projectId: project?.id ?? null,
      projectName: project?.name ?? null,
      repository: repository ?? null,
      commit: commit ?? null,
      at: ctx.clock.now(),
    } as const;
    const { id } = await recordArtifact(tx.db, { teamId, digest, kind, name, uri, mediaType }, source);
    return await rows.find(tx, id);
  });
}

interface Uploading {
  readonly teamId: string;
  readonly digest: string;
  readonly bundle: Uint8Array;
}

async function upload(ctx: Ctx, { teamId, digest, bundle }: Uploading): Promise<Attestation> {
  const { digests, predicateType } = statementOf(bundle);
  if (!digests.includes(digest))
    throw apiError(
      'attestation_subject_mismatch',
      `the statement is about ${digests.join(', ')}, not about ${digest}`,
      {
        details: { digest },
      },
    );
  const sha256 = await crypto.subtle.digest('SHA-256', bundle);
  const dedupeKey = `upload:${digest}:${Buffer.from(sha256).toString('hex')}`;
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
      await refuseMoreUploads({ ...ctx, db }, teamId, digest);
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

async function refuseMoreUploads({ db }: Ctx, teamId: string, digest: string): Promise<void> {
  const about = and(eq(attestationSubjects.teamId, teamId), eq(attestationSubjects.digest, digest));
  const current = await db.orm.$count(attestationSubjects, about);
  if (current < UPLOADS_MAX) return;
  throw apiError(
    'limit_reached',
    `the artifact has ${current} attestations, at most ${UPLOADS_MAX} are kept`,
    {
      details: { resource: 'attestation', limit: UPLOADS_MAX, current },
    },
  );
}

function presentAttestation(row: Attestation, digest: string, keys: Keys) {
  const { bundle, createdAt: storedAt, teamId, ledgerSeq } = row;
  const verified = verifyBundle(bundle, keys, { digest, storedAt, isOurs: row.source === 'platform' });
  const { statement, ...verification } = verified;
  return shown(AttestationSchema, {
    ...row,
    verification,
    statement: statement?.json as JsonObject | undefined,
    bundle: JSON.parse(Buffer.from(bundle).toString('utf8')) as JsonObject,
    sha256: Buffer.from(row.sha256).toString('hex'),
    ledger: { chain: teamId, seq: ledgerSeq },
  });
}

export function artifactsFeature({ config, db }: System, { signer }: { readonly signer: Signer }): Feature {
  return {
    services: [createArtifacts()],
    effects: [catalogued],
    jobs: [catalogueJob({ db, signer, typeBase: config.attestationTypeBase })],
  };
}
