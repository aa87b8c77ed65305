/** What the engine asks about builds, which it may not know policies for: the engine is handed this as a function. */
import { projectRows } from '../../apps/projects/index.ts';
import type { BuildGate } from '../../engine/builds/index.ts';
import { regionOfTeam } from '../../engine/regions/index.ts';
import { systemScope } from '../../platform/authorise.ts';
import { artifactOfDigest } from '../artifacts/index.ts';
import type { Gates } from './passage.ts';

export type { BuildGate } from '../../engine/builds/index.ts';

export function createBuildGate(gates: Gates): BuildGate {
  return async (ctx, { action, environment, build, digest = null }) => {
    const { id: environmentId, name, teamId, projectId } = environment;
    const teams = systemScope(teamId);
    const project = await projectRows.find({ db: ctx.db, teams }, projectId);
    const { id: region, operator } = await regionOfTeam(ctx.db, teamId);
    const { id, number, branch, commit, trigger } = build;
    const artifactId =
      digest === null ? undefined : await artifactOfDigest({ db: ctx.db, teams }, teamId, digest);
    await gates.pass(ctx, {
      action,
      teamId,
      projectId,
      environmentId,
      subject: id,
      facts: {
        project: { id: projectId, name: project.name },
        environment: {
          id: environmentId,
          name,
          region,
          operator,
          promotionsOnly: false,
          requiredApprovals: 1,
        },
        build: { id, number, branch, commit: commit ?? '', trigger },
      },
      artifactIds: artifactId === undefined ? [] : [artifactId],
    });
  };
}
