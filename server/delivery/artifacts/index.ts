/** Artifacts say what was built, of what, by whom, and what is stated about it. */
import { and, desc, eq, inArray } from 'drizzle-orm';
import { implement, type Handlers, type Implementation } from '@svc/proto/http/implement.ts';
import {
  ArtifactKindSchema,
  ArtifactsService,
  ArtifactPackageSchema,
  ImpactResponseSchema,
  LineageResponseSchema,
  type DeclareRequest,
  type ImpactRequest,
  type ImpactResponse,
  type LineageResponse,
  type ListRequest,
  type ReportForRunRequest,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import { projectRows, projectsFeature } from '../../apps/projects/index.ts';
import { runsFeature } from '../../connect/runs/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import { evidenceFeature } from '../../engine/evidence/index.ts';
import { refuseOthersImage, registriesFeature } from '../../engine/registries/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, filledOnce, port } from '../../kit/feature.ts';
import { described, findsById } from '../../kit/search.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { change, enumWord, rowsOf, shown, type Row, type Who } from '../../kit/resource/index.ts';
import { attestationsFeature, attestationsOf, keysFor, type TrustRoot } from '../attestations/index.ts';
import { signingKeysFeature } from '../signingkeys/index.ts';
import { catalogued, catalogueJob } from './catalogue.ts';
import { attestEvaluation, type EvaluationDeps } from './evaluation.ts';
import { passportDue, passportsOfDue } from './passport-due.ts';
import { findArtifact, presentArtifact, presentListed, presentPassport, type Artifact } from './read.ts';
import { recordArtifact, type NewSource } from './record.ts';
import { rereadJob } from './reread.ts';
import { createSbomReader, type SbomReader } from './sbom/sbom-reader.ts';
import { openDocument } from './sbom/stored-document.ts';
import { packagesOf } from './packages.ts';
import { artifacts, artifactSources } from './schema.ts';
import { presentAll, presentAttestation, removeAttestation, upload } from './statements.ts';
import { removeSbom, uploadSbom } from './upload-sbom.ts';

export { catalogued } from './catalogue.ts';
export { artifactFacts, artifactOfDigest, readArtifacts } from './facts.ts';
export { AFTER_MS, PASSPORT_JOB, passportDue } from './passport-due.ts';
export type { About } from './passport-due.ts';
export { namesNear, setsWith, wantedPackage } from './sbom/search.ts';
export type { WantedPackage } from './sbom/search.ts';
export type { ArtifactFacts, ArtifactRow } from './facts.ts';
export { comparePackages } from './sbom/compare.ts';
export type { PackageChanges } from './sbom/compare.ts';
export { packagesOfSets, PACKAGES_MAX } from './sbom/store.ts';

export { builtFrom, imageOf } from './deployable.ts';
export type { Artifact } from './read.ts';
export { artifacts } from './schema.ts';
export type { artifactPassports } from './schema.ts';
export { rankOf } from './source-rank.ts';

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
  /** Host and port of the service's local registry. */
  readonly localRegistry: string;
  /** The run that the caller may say something about at this moment. */
  reportedRun(ctx: Ctx, runId: string): Promise<ReportedRun>;
  use(): UseOfArtifacts;
}

export function createArtifacts(deps: ArtifactsDeps): Handlers<Ctx> {
  return implement(ArtifactsService, {
    ...attestationCalls(deps),
    ...documentCalls(deps),
    list: async (request, ctx: Ctx) => await list(ctx, request),
    get: async ({ artifactId }, ctx: Ctx) => await presentArtifact(ctx, artifactId),
    declare: async (request, ctx: Ctx) => await presentArtifact(ctx, (await declare(deps, ctx, request)).id),
    packages: async (request, ctx: Ctx) => {
      const { id } = await findArtifact(ctx, request.artifactId);
      const page = openPage(ctx, id, request);
      const found = await packagesOf(ctx, id, page);
      const { items, ...next } = closePage(page, found, ({ purl, id: place }) => [purl, place]);
      return { ...next, packages: items.map((each) => shown(ArtifactPackageSchema, each)) };
    },
    impact: async (request, ctx: Ctx) => {
      const { artifactIds, ...impact } = await deps.use().impact(ctx, request);
      const found = await rows.list(ctx, { where: inArray(artifacts.id, [...artifactIds]) });
      const message = shown(ImpactResponseSchema, { ...impact, artifacts: [] });
      message.artifacts = await presentListed(ctx, request.teamId, found);
      return message;
    },
    lineage: async ({ artifactId }, ctx: Ctx) =>
      shown(LineageResponseSchema, await deps.use().lineage(ctx, await findArtifact(ctx, artifactId))),
    passport: async ({ artifactId }, ctx: Ctx) => await presentPassport(ctx, artifactId),
    reportForRun: async (request, ctx: Ctx) => {
      const about = await deps.reportedRun(ctx, request.runId);
      refuseOthersImages(deps, about.teamId, request);
      const { id } = await reportForRun(ctx, request, about);
      return await presentArtifact(ctx, id);
    },
  });
}

type Calls = Implementation<typeof ArtifactsService, Ctx>;

function attestationCalls(
  deps: ArtifactsDeps,
): Pick<Calls, 'attestations' | 'upload' | 'removeAttestation' | 'attestEvaluation'> {
  const keysOf = async (ctx: Ctx) => await keysFor(ctx, { now: ctx.clock.now(), root: deps.root });
  return {
    attestations: async (request, ctx: Ctx) => {
      const [keys, { id, digest }] = await Promise.all([keysOf(ctx), findArtifact(ctx, request.artifactId)]);
      const page = openPage(ctx, id, request);
      const { rows: found, whole } = await attestationsOf(ctx, digest, page);
      const limit = Math.min(page.limit, whole);
      const { items, ...next } = closePage({ ...page, limit }, found, (row) => [row.id]);
      return { ...next, attestations: await presentAll(items, digest, keys) };
    },
    upload: async ({ teamId, artifactId, bundle }, ctx: Ctx) => {
      const about = await findArtifact(ctx, artifactId);
      const { digest } = about;
      const keys = await keysOf(ctx);
      const { stored, digests } = await upload(ctx, keys, { teamId, digest, text: bundle });
      await passportsOfDue(ctx.db, teamId, digests);
      return await presentAttestation(stored, digest, keys);
    },
    removeAttestation: async ({ teamId, artifactId, attestationId }, ctx: Ctx) => {
      const [keys, about] = await Promise.all([keysOf(ctx), findArtifact(ctx, artifactId)]);
      const { digest } = about;
      const which = { teamId, artifactId: about.id, digest, attestationId };
      await passportsOfDue(ctx.db, teamId, await removeAttestation(ctx, keys, which));
      return {};
    },
    attestEvaluation: async (request, ctx: Ctx) => {
      const about = await findArtifact(ctx, request.artifactId);
      const stated = await attestEvaluation(deps, ctx, { about, request });
      await passportDue(ctx.db, about);
      return await presentAttestation(stated, about.digest, await keysOf(ctx));
    },
  };
}

function documentCalls(deps: ArtifactsDeps): Pick<Calls, 'uploadSbom' | 'sbom' | 'removeSbom'> {
  return {
    uploadSbom: async ({ artifactId, document }, ctx: Ctx) => {
      const artifact = await findArtifact(ctx, artifactId);
      await uploadSbom(deps.reader, ctx, { artifact, document });
      await passportDue(ctx.db, artifact);
      return await presentArtifact(ctx, artifact.id);
    },
    sbom: async ({ artifactId, sha256 }, ctx: Ctx) => {
      const { id } = await findArtifact(ctx, artifactId);
      const document = await openDocument(ctx, { artifactId: id, sha256 });
      const name = `${document.sha256}.json${document.contentType === 'application/gzip' ? '.gz' : ''}`;
      ctx.call.responseHeaders.set('content-disposition', `attachment; filename="${name}"`);
      return inBodies(document);
    },
    removeSbom: async ({ artifactId, sha256 }, ctx: Ctx) => {
      const artifact = await findArtifact(ctx, artifactId);
      await removeSbom(ctx, { artifact, sha256 });
      await passportDue(ctx.db, artifact);
      return await presentArtifact(ctx, artifact.id);
    },
  };
}

async function* inBodies({ contentType, pieces }: Awaited<ReturnType<typeof openDocument>>) {
  for await (const data of pieces) yield { contentType, data };
}

async function list(ctx: Ctx, request: ListRequest) {
  const { teamId, kind, projectId, commit } = request;
  const of = [teamId, kind ?? '', projectId ?? '', commit ?? ''].join(' ');
  const { items, ...page } = await rows.page(ctx, { ...request, of }, { where: listed(ctx, request) });
  return { ...page, artifacts: await presentListed(ctx, teamId, items) };
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

/**
 * Artifacts with a source for which `where` holds; undefined: any. In the order of the list, so that a page
 * ends with its rows and not with all that is newer than its last.
 */
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
) {
  const { id: ref, branch, commitSha: commit, environmentId } = run;
  const source = { origin: 'ci_run', ref, repository, branch, commit, environmentId } as const;
  const act = { action: 'artifact.reported', said: { runId: ref } };
  return await record(ctx, { teamId, request, source, act });
}

interface Recording {
  readonly teamId: string;
  readonly request: DeclareRequest | ReportForRunRequest;
  readonly source: NewSource;
  readonly act: { readonly action: string; readonly said?: Readonly<Record<string, string>> };
}

async function record(ctx: Ctx, { teamId, request, source, act }: Recording): Promise<Artifact> {
  const { digest, name, uri, mediaType } = request;
  const kind = enumWord(ArtifactKindSchema, request.kind) as Artifact['kind'];
  const details = ({ digest: of }: Artifact) => ({ digest: of, name, kind, ...act.said });
  return await change(ctx, { action: act.action, details }, async (tx) => {
    await rows.atMost(tx, { teamId, max: ARTIFACTS_MAX });
    const seen = { ...source, at: ctx.clock.now() };
    const { id } = await recordArtifact(tx.db, { teamId, digest, kind, name, uri, mediaType }, seen);
    return await rows.find(tx, id);
  });
}

/** A digest is no secret: an artifact cannot be said to be what another team has in the local registry. */
function refuseOthersImages(
  { localRegistry }: Pick<ArtifactsDeps, 'localRegistry'>,
  teamId: string,
  { name, uri }: Pick<DeclareRequest, 'name' | 'uri'>,
): void {
  for (const image of [name, uri]) refuseOthersImage({ teamId, localRegistry }, image);
}

async function declare(
  deps: Pick<ArtifactsDeps, 'localRegistry'>,
  ctx: Ctx,
  request: DeclareRequest,
): Promise<Artifact> {
  const { teamId, projectId, repository, commit } = request;
  refuseOthersImages(deps, teamId, request);
  const project = projectId === undefined ? undefined : await projectRows.find(ctx, projectId);
  const source = {
    origin: 'declared',
    ref: ctx.caller.userId,
    projectId: project?.id,
    projectName: project?.name,
    repository,
    commit,
  } as const;
  return await record(ctx, { teamId, request, source, act: { action: 'artifact.declared' } });
}

/** The answer about artifacts whose ids stand for them, newest first. */
export type Impact = Omit<Row<ImpactResponse>, 'artifacts'> & { readonly artifactIds: readonly string[] };

/** Where an artifact came from and went to is known by releases and promotions, which stand above. */
interface UseOfArtifacts {
  impact(who: Who, request: ImpactRequest): Promise<Impact>;
  lineage(ctx: Ctx, artifact: Artifact): Promise<Row<LineageResponse>>;
}

export const useOfArtifacts = port<UseOfArtifacts>('use of artifacts');

export const artifactsFeature = declareFeature({
  name: 'artifacts',
  on: {
    projects: projectsFeature,
    registries: registriesFeature,
    evidence: evidenceFeature,
    builds: buildsFeature,
    runs: runsFeature,
    signingKeys: signingKeysFeature,
    attestations: attestationsFeature,
  },
  events: {
    'artifact.created': {
      when: 'An artifact was seen for the first time.',
      scope: 'artifact:read',
      delivered: true,
    },
  },
  reads: ['artifact_passports', 'artifacts', 'artifact_sources', 'artifact_sboms', 'package_sets'],
  writes: ['artifact_passports'],
  start: (system, { registries, runs, signingKeys: { signer }, attestations: { root, typeBase } }) => {
    const { db, publicUrl } = system;
    const { localRegistry } = registries;
    const { reportedRun } = runs;
    const use = (): UseOfArtifacts => filledOnce(system, useOfArtifacts);
    const reader = createSbomReader();
    return {
      services: [createArtifacts({ signer, root, typeBase, reader, localRegistry, reportedRun, use })],
      fills: [findsById(described(artifacts, 'artifact:read', artifacts.name))],
      effects: [catalogued],
      jobs: [catalogueJob({ db, signer, reader, publicUrl, typeBase }), rereadJob({ db, reader })],
      stop: async () => await reader.stop(),
    };
  },
});
