/** Artifacts: what was built, of what, by whom, and what is stated about it. */
import { and, desc, eq, inArray } from 'drizzle-orm';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  ArtifactKindSchema,
  ArtifactSchema,
  ArtifactsService,
  ArtifactPackageSchema,
  ImpactResponseSchema,
  LineageResponseSchema,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type {
  DeclareRequest,
  ListRequest,
  ReportForRunRequest,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import { projectRows } from '../../apps/projects/index.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Feature, System } from '../../platform/feature.ts';
import { notFound } from '../../platform/not-found.ts';
import { closePage, openPage } from '../../platform/paging.ts';
import { change, enumWord, rowsOf, shown } from '../../platform/resource/index.ts';
import { attestationsOf, keysFor } from '../attestations/index.ts';
import type { TrustRoot } from '../attestations/index.ts';
import { catalogued, catalogueJob } from './catalogue.ts';
import { attestEvaluation } from './evaluation.ts';
import type { EvaluationDeps } from './evaluation.ts';
import { impactOf } from './impact.ts';
import { lineageOf } from './lineage.ts';
import { passportJob } from './passport.ts';
import { passportDue, passportsDue } from './passport-due.ts';
import { findArtifact, presentArtifact, presentPassport } from './read.ts';
import type { Artifact } from './read.ts';
import { recordArtifact } from './record.ts';
import { createSbomReader } from './sbom/sbom-reader.ts';
import type { SbomReader } from './sbom/sbom-reader.ts';
import { packagesOfSet } from './sbom/store.ts';
import { artifacts, artifactSources } from './schema.ts';
import { presentAll, presentAttestation, upload } from './statements.ts';
import { uploadSbom } from './upload-sbom.ts';

export { artifactFacts, artifactOfDigest, readArtifacts } from './facts.ts';
export { passportDue } from './passport-due.ts';
export type { ArtifactFacts, ArtifactRow } from './facts.ts';
export { comparePackages } from './sbom/compare.ts';
export type { PackageChanges } from './sbom/compare.ts';
export { packagesOfSets, PACKAGES_MAX } from './sbom/store.ts';
export type { PackageFacts } from './sbom/store.ts';

export { builtFrom, imageOf } from './deployable.ts';
export type { Artifact } from './read.ts';
export { artifacts } from './schema.ts';

const ARTIFACTS_MAX = 200_000;

export const artifactRows = rowsOf(artifacts);
const rows = artifactRows;

/** A run of an external CI, as far as its artifacts go. */
export interface ReportedRun {
  readonly teamId: string;
  readonly repository: string;
  readonly run: {
    readonly id: string;
    readonly branch: string | null;
    readonly commitSha: string | null;
    readonly environmentId: string | null;
  };
}

export interface ArtifactsDeps extends EvaluationDeps {
  readonly root: TrustRoot | undefined;
  readonly reader: SbomReader;
  /** The run that the caller may say something about at this moment. */
  reportedRun(ctx: Ctx, runId: string): Promise<ReportedRun>;
}

export function createArtifacts(deps: ArtifactsDeps): Handlers<Ctx> {
  const { root } = deps;
  const keysOf = async (ctx: Ctx) => await keysFor(ctx, { now: ctx.clock.now(), root });
  return implement(ArtifactsService, {
    list: async (request, ctx: Ctx) => {
      const { teamId, kind, projectId, commit } = request;
      const of = [teamId, kind ?? '', projectId ?? '', commit ?? ''].join(' ');
      const { items, ...page } = await rows.page(ctx, { ...request, of }, { where: listed(ctx, request) });
      return { ...page, artifacts: items.map((row) => shown(ArtifactSchema, row)) };
    },
    get: async ({ artifactId }, ctx: Ctx) => await presentArtifact(ctx, artifactId),
    declare: async (request, ctx: Ctx) => await presentArtifact(ctx, (await declare(ctx, request)).id),
    attestations: async (request, ctx: Ctx) => {
      const [keys, { id, digest }] = await Promise.all([keysOf(ctx), findArtifact(ctx, request.artifactId)]);
      const page = openPage(ctx, id, request);
      const found = await attestationsOf(ctx, digest, page);
      const { items, ...next } = closePage(page, found, (row) => [row.id]);
      return { ...next, attestations: await presentAll(items, digest, keys) };
    },
    upload: async ({ teamId, artifactId, bundle }, ctx: Ctx) => {
      const about = await findArtifact(ctx, artifactId);
      const { digest } = about;
      const stored = await upload(ctx, { teamId, digest, bundle: Buffer.from(bundle, 'utf8') });
      await passportDue(ctx.db, about);
      return presentAttestation(stored, digest, await keysOf(ctx));
    },
    packages: async (request, ctx: Ctx) => {
      const { id, packageSetId } = await findArtifact(ctx, request.artifactId);
      if (packageSetId === null) throw notFound('list of packages');
      const page = openPage(ctx, id, request);
      const after = Number(page.after?.[0] ?? 0);
      const found = await packagesOfSet(ctx.db.sql, ctx.teams, {
        setId: packageSetId,
        after,
        limit: page.take,
      });
      const { items, ...next } = closePage(page, found, ({ place }) => [place]);
      return { ...next, packages: items.map((each) => shown(ArtifactPackageSchema, each)) };
    },
    impact: async (request, ctx: Ctx) => {
      const { artifactIds, environments, releases, counts, truncated } = await impactOf(ctx, request);
      const found = await rows.list(ctx, { where: inArray(artifacts.id, [...artifactIds]) });
      return shown(ImpactResponseSchema, { environments, releases, artifacts: found, counts, truncated });
    },
    lineage: async ({ artifactId }, ctx: Ctx) =>
      shown(LineageResponseSchema, await lineageOf(ctx, await findArtifact(ctx, artifactId))),
    passport: async ({ artifactId }, ctx: Ctx) => await presentPassport(ctx, artifactId),
    uploadSbom: async ({ artifactId, document }, ctx: Ctx) => {
      const artifact = await findArtifact(ctx, artifactId);
      await uploadSbom(deps.reader, ctx, { artifact, document });
      await passportDue(ctx.db, artifact);
      return await presentArtifact(ctx, artifact.id);
    },
    reportForRun: async (request, ctx: Ctx) => {
      const { id } = await reportForRun(ctx, request, await deps.reportedRun(ctx, request.runId));
      return await presentArtifact(ctx, id);
    },
    attestEvaluation: async (request, ctx: Ctx) => {
      const about = await findArtifact(ctx, request.artifactId);
      const stated = await attestEvaluation(deps, ctx, { about, request });
      await passportDue(ctx.db, about);
      return presentAttestation(stated, about.digest, await keysOf(ctx));
    },
  });
}

function listed(ctx: Ctx, { teamId, kind, projectId, commit }: ListRequest) {
  const word = kind === undefined ? undefined : (enumWord(ArtifactKindSchema, kind) as Artifact['kind']);
  return and(
    eq(artifacts.teamId, teamId),
    word === undefined ? undefined : eq(artifacts.kind, word),
    fromSource(ctx, teamId, projectId === undefined ? undefined : eq(artifactSources.projectId, projectId)),
    fromSource(ctx, teamId, commit === undefined ? undefined : eq(artifactSources.commit, commit)),
  );
}

/** Artifacts with a source for which `where` holds; undefined: any. In the order of the list, so that a page ends with its rows and not with all that is newer than its last. */
function fromSource({ db }: Ctx, teamId: string, where: ReturnType<typeof eq> | undefined) {
  if (where === undefined) return undefined;
  const sources = db.orm
    .selectDistinct({ id: artifactSources.artifactId })
    .from(artifactSources)
    .where(and(eq(artifactSources.teamId, teamId), where))
    .orderBy(desc(artifactSources.artifactId));
  return inArray(artifacts.id, sources);
}

async function reportForRun(
  ctx: Ctx,
  request: ReportForRunRequest,
  { run, teamId, repository }: ReportedRun,
): Promise<Artifact> {
  const { digest, name, uri, mediaType } = request;
  const kind = enumWord(ArtifactKindSchema, request.kind) as Artifact['kind'];
  const details = ({ digest: of }: Artifact) => ({ digest: of, name, kind, runId: run.id });
  return await change(ctx, { action: 'artifact.reported', details }, async (tx) => {
    await rows.atMost(tx, { teamId, max: ARTIFACTS_MAX });
    const { branch, commitSha: commit, environmentId } = run;
    const source = {
      origin: 'ci_run',
      ref: run.id,
      repository,
      branch,
      commit,
      environmentId,
      at: ctx.clock.now(),
    } as const;
    const { id } = await recordArtifact(tx.db, { teamId, digest, kind, name, uri, mediaType }, source);
    return await rows.find(tx, id);
  });
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

export function artifactsFeature(
  { config, db, clock, publicUrl }: System,
  deps: Pick<ArtifactsDeps, 'signer' | 'root' | 'reportedRun'>,
): Feature {
  const { signer, root } = deps;
  const typeBase = config.attestationTypeBase;
  const reader = createSbomReader();
  return {
    services: [createArtifacts({ ...deps, typeBase, reader })],
    effects: [catalogued, passportsDue],
    jobs: [
      catalogueJob({ db, signer, reader, publicUrl, typeBase }),
      passportJob({ db, signer, clock, typeBase, root }),
    ],
    stop: async () => await reader.stop(),
  };
}
