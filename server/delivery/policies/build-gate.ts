/**
 * What the engine asks about builds, which it may not know policies for: the engine is handed this as a
 * function.
 */
import { projectRows } from '../../apps/projects/index.ts';
import type { AskedOfGate, BuildGate } from '../../engine/builds/index.ts';
import { regionOfTeam } from '../../access/teams/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import { artifactOfDigest } from '../artifacts/index.ts';
import type { Gates, Passage } from './passage.ts';

export type { BuildGate } from '../../engine/builds/index.ts';

export const createBuildGate =
  (gates: Gates): BuildGate =>
  async (ctx, asked) =>
    await gates.judge(ctx, await passageOfBuild(ctx, asked));

export async function passageOfBuild(
  ctx: Ctx,
  { action, environment, build, image, promoted, override }: AskedOfGate,
): Promise<Passage> {
  const { id: environmentId, name, teamId, projectId, promotionsOnly, requiredApprovals } = environment;
  const teams = systemScope(teamId);
  const project = await projectRows.find({ db: ctx.db, teams }, projectId);
  const { id: region, operator } = await regionOfTeam(ctx.db, teamId);
  const { id, number, branch, trigger } = build;
  const commit = build.commit ?? '';
  const artifactId = image && (await artifactOfDigest({ db: ctx.db, teams }, teamId, image.digest));
  const source = { origin: 'build', repository: environment.repository ?? '', branch, commit };
  const deployed = { kind: 'image', ...source, ...image };
  return {
    action,
    teamId,
    projectId,
    environmentId,
    subject: id,
    facts: {
      project: { id: projectId, name: project.name },
      environment: { id: environmentId, name, region, operator, promotionsOnly, requiredApprovals },
      build: { id, number, branch, commit, trigger },
      ...promoted,
    },
    artifactIds: artifactId === undefined ? [] : [artifactId],
    // A rule about all artifacts must not hold because there is none.
    uncatalogued: action === 'deploy' && artifactId === undefined ? [deployed] : [],
    override,
  };
}
