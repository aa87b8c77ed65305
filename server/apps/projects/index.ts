/** Projects of the caller's teams. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { ProjectsService } from '@svc/proto/gen/svc/projects/v1/projects_pb.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import { requireTeam } from '../../platform/authorise.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Cursors } from '../../platform/cursor.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import { closePage, openPage } from '../../platform/paging.ts';
import { refuseOpenBuilds } from './open-builds.ts';
import { slugOf } from './slug.ts';
import {
  deleteProject,
  findProject,
  findProjectBySlug,
  insertProject,
  listProjects,
  lockEnvironmentsOf,
} from './store.ts';
import type { Project } from './store.ts';

export { refuseOpenBuilds } from './open-builds.ts';
export { findProject } from './store.ts';
export type { Project } from './store.ts';

export interface ProjectsDeps {
  readonly clock: Clock;
  readonly cursors: Cursors;
  /** Ids of the projects in a space that the caller may see; server/workspace/spaces implements it. */
  readonly inSpace: (ctx: Ctx, spaceId: string) => Promise<readonly string[]>;
}

export function createProjects({ clock, cursors, inSpace }: ProjectsDeps): Handlers<Ctx> {
  return implement(ProjectsService, {
    list: async ({ teamId, spaceId, limit, cursor }, ctx: Ctx) => {
      const teamIds = teamId === undefined ? ctx.teams.teamIds : [requireTeam(ctx.teams, teamId)];
      const ids = spaceId === undefined ? undefined : await inSpace(ctx, spaceId);
      const binding = `${ctx.caller.userId}|${teamId ?? ''}|${spaceId ?? ''}`;
      const page = openPage(ctx.call.rpc, cursors, binding, { limit, cursor });
      const after =
        page.after === undefined
          ? undefined
          : { createdAt: new Date(String(page.after[0])), id: String(page.after[1]) };
      const rows = await listProjects(ctx.db, { teamIds, ids, take: page.take, after });
      const result = closePage(ctx.call.rpc, cursors, binding, page, rows, (row) => [
        row.createdAt.toISOString(),
        row.id,
      ]);
      return {
        projects: result.items.map(present),
        ...(result.nextCursor === undefined ? {} : { nextCursor: result.nextCursor }),
      };
    },
    get: async ({ idOrSlug }, ctx: Ctx) => {
      const project = idOrSlug.startsWith('prj_')
        ? await findProject(ctx.db, ctx.teams, idOrSlug)
        : await findProjectBySlug(ctx.db, ctx.teams, idOrSlug);
      return present(visible(ctx, project));
    },
    create: async ({ name, teamId }, ctx: Ctx) => {
      requireTeam(ctx.teams, teamId);
      const createdAt = clock.now();
      const project = { id: newId('prj', createdAt.getTime()), teamId, name, slug: slugOf(name), createdAt };
      return present(
        await ctx.db.transact(async (db) => {
          const made = await insertProject(db, project);
          await recordAct(db, ctx, act('project.created', made));
          return made;
        }),
      );
    },
    delete: async ({ projectId }, ctx: Ctx) => {
      const project = visible(ctx, await findProject(ctx.db, ctx.teams, projectId));
      await ctx.db.transact(async (db) => {
        await refuseOpenBuilds(db, project.teamId, await lockEnvironmentsOf(db, project));
        if (await deleteProject(db, project)) await recordAct(db, ctx, act('project.deleted', project));
      });
      return {};
    },
  });
}

function act(action: string, { id, teamId, name, slug }: Project) {
  return { chain: teamId, action, target: id, details: { name, slug } };
}

function visible(ctx: Ctx, project: Project | undefined): Project {
  if (project === undefined) throw notFound('project');
  ctx.teams.require(project.teamId);
  return project;
}

function present(project: Project) {
  const { createdAt, ...rest } = project;
  return { ...rest, createdAt: timestampFromDate(createdAt) };
}
