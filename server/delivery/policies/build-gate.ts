/**
 * What the engine asks about builds, which it may not know policies for: the engine is handed this as a
 * function.
 */
import { projectRows } from '../../apps/projects/index.ts';
import type { AskedOfGate, BuildGate } from '../../engine/builds/index.ts';
import { regionOfTeam } from '../../access/teams/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { artifactOfDigest } from '../artifacts/index.ts';
import type { Gates, Passage } from './passage.ts';

export type { BuildGate } from '../../engine/builds/index.ts';

/** Says what policies are told of the place of an act. */
export async function placeOf(db: Database, environment: AskedOfGate['environment']) {
  const { id: environmentId, name, teamId, projectId, promotionsOnly, requiredApprovals } = environment;
  const project = await projectRows.find({ db, teams: systemScope(teamId) }, projectId);
  const { id: region, operator } = await regionOfTeam(db, teamId);
  const facts = {
    project: { id: projectId, name: project.name },
    environment: { id: environmentId, name, region, operator, promotionsOnly, requiredApprovals },
  };
  return { teamId, projectId, environmentId, facts };
}

export const createBuildGate =
  (gates: Gates): BuildGate =>
  async (ctx, asked) =>
    await gates.judge(ctx, await passageOfBuild(ctx, asked));

export async function passageOfBuild(
  ctx: Ctx,
  { action, environment, build, image, promoted, override }: AskedOfGate,
): Promise<Passage> {
  const { teamId } = environment;
  const { facts, ...place } = await placeOf(ctx.db, environment);
  const { id, number, branch, trigger } = build;
  const commit = build.commit ?? '';
  const artifactId =
    image && (await artifactOfDigest({ db: ctx.db, teams: systemScope(teamId) }, teamId, image.digest));
  const source = { origin: 'build', repository: environment.repository ?? '', branch, commit };
  const deployed = { kind: 'image', ...source, ...image };
  return {
    action,
    ...place,
    subject: id,
    facts: {
      ...facts,
      build: { id, number, branch, commit, trigger },
      ...promoted,
    },
    artifactIds: artifactId === undefined ? [] : [artifactId],
    // A rule about all artifacts must not hold because there is none.
    uncatalogued: action === 'deploy' && artifactId === undefined ? [deployed] : [],
    override,
  };
}
