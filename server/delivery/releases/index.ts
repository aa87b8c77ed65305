/** Releases: versions of a project, each of fixed artifacts. */
import { eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  ReleaseSchema,
  ReleasesService,
  type CreateRequest,
} from '@svc/proto/gen/svc/releases/v1/releases_pb.ts';
import { projectRows, projectsFeature } from '../../apps/projects/index.ts';
import { refuseOthersImage, registriesFeature } from '../../engine/registries/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { isUniqueViolation } from '../../base/db/index.ts';
import { addEvent } from '../../kit/events/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { described, searchSources, findsById } from '../../kit/search.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, shown } from '../../kit/resource/index.ts';
import { artifactsFeature, imageOf, type Artifact } from '../artifacts/index.ts';
import { policiesFeature, type Gates } from '../policies/index.ts';
import { signingKeysFeature } from '../signingkeys/index.ts';
import { digestOf } from './digest.ts';
import { releaseArtifacts, releases } from './schema.ts';
import { foundByVersion } from './search.ts';
import { addStatement, statementJob } from './statement.ts';
import { artifactsOf, artifactsOfTeam, releaseRows as rows, type Release } from './store.ts';

export { artifactsOf, releaseRows } from './store.ts';
export type { Release } from './store.ts';

const RELEASES_MAX = 10_000;

interface ReleasesDeps {
  readonly gates: Gates;
  /** Host and port of the service's local registry. */
  readonly localRegistry: string;
}

export function createReleases(deps: ReleasesDeps): Handlers<Ctx> {
  return implement(ReleasesService, {
    list: async (request, ctx: Ctx) => {
      const { id } = await projectRows.find(ctx, request.projectId);
      const { items, ...page } = await rows.page(
        ctx,
        { ...request, of: id },
        { where: eq(releases.projectId, id) },
      );
      return { ...page, releases: items.map((row) => shown(ReleaseSchema, row)) };
    },
    listForTeam: async (request, ctx: Ctx) => {
      const { teamId } = request;
      const { items, ...page } = await rows.page(
        ctx,
        { ...request, of: teamId },
        { where: eq(releases.teamId, teamId) },
      );
      return { ...page, releases: items.map((row) => shown(ReleaseSchema, row)) };
    },
    get: async ({ projectId, releaseId }, ctx: Ctx) => {
      const { id } = await projectRows.find(ctx, projectId);
      const release = await rows.find(ctx, releaseId);
      if (release.projectId !== id) throw notFound(rows.kind);
      return present(release, await artifactsOf(ctx, releaseId));
    },
    create: async (request, ctx: Ctx) => await create(deps, ctx, request),
  });
}

const present = (release: Release, artifacts: readonly Artifact[]) =>
  shown(ReleaseSchema, { ...release, artifacts });

async function create({ gates, localRegistry }: ReleasesDeps, ctx: Ctx, request: CreateRequest) {
  const project = await projectRows.find(ctx, request.projectId);
  const { id: projectId, teamId, name: projectName } = project;
  const { version, notes = '' } = request;
  const of = await artifactsOfTeam(ctx, teamId, request.artifactIds);
  for (const artifact of of) refuseOthersImage({ teamId, localRegistry }, imageOf(artifact));
  const artifacts = of.map(({ digest }) => digest);
  const createdAt = ctx.clock.now();
  const id = newId('rel', createdAt.getTime());
  const row = {
    id,
    teamId,
    projectId,
    projectName,
    version,
    versionKey: version.toLowerCase(),
    notes,
    digest: digestOf({ projectId, version, artifacts }),
    createdBy: ctx.caller.userId,
    createdAt,
  };
  const details = ({ digest }: Release) => ({ projectId, version, digest, artifacts: artifacts.toSorted() });
  const made = change(ctx, { action: 'release.created', details }, async (tx) => {
    await gates.pass(tx, {
      action: 'release.create',
      teamId,
      projectId,
      subject: id,
      facts: { project: { id: projectId, name: projectName }, release: { id, version } },
      artifactIds: of.map((artifact) => artifact.id),
    });
    const where = eq(releases.projectId, projectId);
    await rows.atMost(tx, { teamId, max: RELEASES_MAX, of: 'project', where });
    const release = await rows.insert(tx, row);
    if (of.length > 0) {
      const held = of.map((artifact) => ({ teamId, releaseId: id, artifactId: artifact.id }));
      await tx.db.orm.insert(releaseArtifacts).values(held);
      await addStatement(tx.db, release);
    }
    const payload = { releaseId: id, projectId, version, digest: row.digest };
    await addEvent(tx.db, { teamId, kind: 'release.created', key: id, payload, at: createdAt });
    return release;
  });
  return present(await unlessVersionTaken(made, row), of);
}

async function unlessVersionTaken<T>(
  work: Promise<T>,
  { projectId, version }: Pick<Release, 'projectId' | 'version'>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isUniqueViolation(error, 'releases_version')) throw error;
    throw apiError(
      'version_taken',
      `the project has a release "${version}" already, in whatever case; choose another version`,
      { details: { projectId, version }, cause: error },
    );
  }
}

export const releasesFeature = declareFeature({
  name: 'releases',
  on: {
    projects: projectsFeature,
    registries: registriesFeature,
    signingKeys: signingKeysFeature,
    artifacts: artifactsFeature,
    policies: policiesFeature,
  },
  events: {
    'release.created': { when: 'A release was created.', scope: 'release:read', delivered: true },
  },
  reads: ['releases', 'release_artifacts'],
  start: (
    { db, clock },
    { registries: { localRegistry }, policies: { gates }, signingKeys: { signer } },
  ) => ({
    services: [createReleases({ localRegistry, gates })],
    fills: [
      findsById(described(releases, 'release:read', releases.version)),
      fill(searchSources, foundByVersion),
    ],
    jobs: [statementJob({ db, signer, clock })],
  }),
});
