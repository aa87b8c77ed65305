/** The feature keeps the projects of teams. */
import { and, eq, sql, type SQL } from 'drizzle-orm';
import { SetupStepKind } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { ProjectSchema, ProjectsService } from '@svc/proto/gen/svc/projects/v1/projects_pb.ts';
import { requireTeam } from '../../kit/authorise.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill, filledOnce, port } from '../../kit/feature.ts';
import { setupSteps } from '../../kit/overview.ts';
import { described, findsByName } from '../../kit/search.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, rowsOf, shown, type RowOf } from '../../kit/resource/index.ts';
import { projects } from './schema.ts';
import { nextFreeSlug } from './slug.ts';

export { slugOf } from './slug.ts';

export const projectRows = rowsOf(projects);
export type Project = RowOf<typeof projects>;

/** Returns the ids of the projects in a space that the caller may see. */
export type ProjectsInSpace = (ctx: Ctx, spaceId: string) => Promise<readonly string[]>;

/**
 * Returns the environments that go with a project. In the transaction of its deletion; throws when something
 * in them is in the way, and keeps what would be from beginning.
 */
export type ContentsOfProject = (
  tx: Ctx,
  projectId: string,
) => Promise<ReadonlyArray<{ readonly id: string; readonly name: string }>>;

export const projectsInSpace = port<ProjectsInSpace>('projects in a space');
export const contentsOfProject = port<ContentsOfProject>('contents of a project');

export interface ProjectsDeps {
  readonly inSpace: ProjectsInSpace;
  readonly contents: ContentsOfProject;
}

const details = ({ name, slug }: Project) => ({ name, slug });

export function createProjects({ inSpace, contents }: ProjectsDeps): Handlers<Ctx> {
  return implement(ProjectsService, {
    list: async (request, ctx: Ctx) => {
      const { teamId, spaceId } = request;
      const where = and(
        teamId === undefined ? undefined : eq(projects.teamId, requireTeam(ctx.teams, teamId)),
        spaceId === undefined ? undefined : isOneOf(await inSpace(ctx, spaceId)),
      );
      const of = `${ctx.caller.userId}|${teamId ?? ''}|${spaceId ?? ''}`;
      const { items, ...page } = await projectRows.page(ctx, { ...request, of }, { where });
      return { ...page, projects: items.map((row) => shown(ProjectSchema, row)) };
    },
    get: async ({ idOrSlug }, ctx: Ctx) => {
      if (idOrSlug.startsWith('prj_')) return shown(ProjectSchema, await projectRows.find(ctx, idOrSlug));
      const [found, ...others] = await projectRows.list(ctx, { where: eq(projects.slug, idOrSlug) });
      if (found === undefined) throw notFound('project');
      if (others.length > 0) throw isOfSeveral(idOrSlug, [found, ...others]);
      ctx.teams.require(found.teamId);
      return shown(ProjectSchema, found);
    },
    create: async ({ name, teamId }, ctx: Ctx) => {
      requireTeam(ctx.teams, teamId);
      const made = await change(ctx, { action: 'project.created', details }, async (tx) =>
        projectRows.insert(tx, { teamId, name, slug: await nextFreeSlug(tx, { teamId, name }) }),
      );
      return shown(ProjectSchema, made);
    },
    delete: async ({ projectId }, ctx: Ctx) => {
      await projectRows.find(ctx, projectId);
      await ctx.db.transact(async (db) => {
        const tx = { ...ctx, db };
        const { id } = await projectRows.lock(tx, projectId);
        const environments = await contents(tx, id);
        const deleted = (row: Project) => ({ ...details(row), environments });
        await change(tx, { action: 'project.deleted', details: deleted }, async () =>
          projectRows.remove(tx, id),
        );
      });
      return {};
    },
  });
}

/** A slug is of one team; whoever is in several teams may see it twice. */
function isOfSeveral(slug: string, found: readonly Project[]): Error {
  const named = found.map(({ id, teamId }) => `${id} (team ${teamId})`).join(', ');
  return apiError(
    'state_conflict',
    `"${slug}" is the slug of ${found.length} projects of your teams: ${named}; give the id of the one that is meant`,
    { details: { resource: 'project', slug, projects: found.map(({ id, teamId }) => ({ id, teamId })) } },
  );
}

function isOneOf(ids: readonly string[]): SQL {
  return sql`${projects.id} = any(${sql.param([...ids])}::text[])`;
}

export const projectsFeature = declareFeature({
  name: 'projects',
  on: { teams: teamsFeature },
  reads: ['projects'],
  start: (system) => ({
    fills: [
      findsByName(described(projects, 'project:read', projects.name)),
      fill(setupSteps, {
        kind: SetupStepKind.PROJECT,
        scope: 'project:read',
        isDone: (tag, { teamId }) => tag`exists (select from projects where team_id = ${teamId})`,
      }),
    ],
    services: [
      createProjects({
        inSpace: async (ctx, spaceId) => await filledOnce(system, projectsInSpace)(ctx, spaceId),
        contents: async (tx, projectId) => await filledOnce(system, contentsOfProject)(tx, projectId),
      }),
    ],
  }),
});
