/**
 * Templates are recipes for environments: made by hand over a repository, or of an environment that works,
 * and deployed by whoever sees them, with values of his own.
 */
import { implement, type Handlers, type Implementation } from '@svc/proto/http/implement.ts';
import {
  TemplateOfEnvironmentSchema,
  TemplateSchema,
  TemplateServiceSchema,
  TemplatesService,
  TemplateVisibility,
  TemplateVisibilitySchema,
  type Template as Message,
} from '@svc/proto/gen/svc/templates/v1/templates_pb.ts';
import { connectionsFeature } from '../../connect/connections/index.ts';
import { providersFeature } from '../../connect/providers/index.ts';
import { buildsFeature, missingVariablesOf, type MissingVariables } from '../../engine/builds/index.ts';
import { workFeature } from '../../engine/work/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { change, enumWord, given, shown, type Changes, type Who } from '../../kit/resource/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { described, findsByName } from '../../kit/search.ts';
import { teamOf } from '../../kit/team-of.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { buildStepsFeature } from '../buildsteps/index.ts';
import { databasesFeature } from '../databases/index.ts';
import { environmentRows, environmentsFeature, shownEnvironment } from '../environments/index.ts';
import { projectRows, projectsFeature, slugOf } from '../projects/index.ts';
import { storageFeature } from '../storage/index.ts';
import { variablesFeature } from '../variables/index.ts';
import { deploy, originOf, type DeployDeps } from './deploy.ts';
import { takenFrom } from './from-environment.ts';
import { differing, EMPTY, type Recipe, type RecipeService } from './recipe.ts';
import { hasCredentials } from './repository.ts';
import { askResync, resyncJob } from './resync.ts';
import {
  checkRecipe,
  findTemplate,
  insertTemplate,
  pageOfTemplates,
  refusePublic,
  revise,
  seenTemplate,
  templateRows,
  templateToChange,
  type Template,
} from './rows.ts';
import { templates } from './schema.ts';

const PUBLISHING = 'publishing a template';

const details = ({ slug, visibility, revision }: Template) => ({ slug, visibility, revision });

type Calls = Implementation<typeof TemplatesService, Ctx>;

/** Returns those of the names that an environment does not have. */
type Unset = (who: Who, environmentId: string, names: readonly string[]) => Promise<readonly string[]>;

interface TemplatesDeps extends DeployDeps {
  readonly unset: Unset;
}

export function createTemplates(deps: TemplatesDeps): Handlers<Ctx> {
  return implement(TemplatesService, {
    ...createCalls(),
    ...changeCalls(),
    list: async (request, ctx: Ctx) => {
      const { items, ...page } = await pageOfTemplates(ctx, request);
      return { ...page, templates: items.map((row) => show(ctx, row, { variables: [], services: [] })) };
    },
    get: async ({ templateId }, ctx: Ctx) => show(ctx, await findTemplate(ctx, templateId)),
    ofEnvironment: async ({ environmentId }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      const origin = await originOf(ctx, id);
      if (origin === undefined) throw notFound(templateRows.kind);
      const [template, missing] = await Promise.all([
        seenTemplate(ctx, origin.templateId),
        deps.unset(ctx, id, origin.required),
      ]);
      const more = { newestRevision: template?.revision, missingVariables: missing.toSorted() };
      return shown(TemplateOfEnvironmentSchema, origin, more);
    },
    deploy: async (request, ctx: Ctx) => {
      const { teamId } = await projectRows.find(ctx, request.projectId);
      const template = await findTemplate(ctx, request.templateId);
      const notice = await deps.environments.missingRegistry(teamId);
      const { environment, build, missing } = await deploy(deps, ctx, { template, request, notice });
      return {
        environment: shownEnvironment(environment, notice),
        ...(build && { build }),
        missingVariables: [...missing],
      };
    },
  });
}

function createCalls(): Pick<Calls, 'create' | 'createFromEnvironment'> {
  return {
    create: async (request, ctx: Ctx) => {
      const teamId = await teamOf(ctx, request.teamId);
      const { name, slug, repository, description = '', branch = null } = request;
      const visibility = wordOf(request.visibility);
      if (hasCredentials(repository)) throw withCredentials();
      refusePublic(ctx, { teamId, visibility }, PUBLISHING);
      const recipe = { ...EMPTY, name, description };
      const of = { teamId, slug, visibility, repository, branch, recipe };
      const made = await change(ctx, { action: 'template.created', details }, async (tx) => {
        const template = await insertTemplate(tx, { ...of, base: EMPTY, syncState: 'pending' });
        await askResync(tx.db, template);
        return template;
      });
      return show(ctx, made);
    },
    createFromEnvironment: async (request, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, request.environmentId);
      const { teamId } = environment;
      const visibility = wordOf(request.visibility ?? TemplateVisibility.TEAM);
      refusePublic(ctx, { teamId, visibility }, PUBLISHING);
      const slug = request.slug ?? slugOf(request.name);
      const { recipe, ...taken } = await takenFrom(ctx, environment, request);
      // Name and description were given by hand; a file takes the place of all else.
      const base = { ...recipe, name: EMPTY.name, description: EMPTY.description };
      const of = { teamId, slug, visibility, recipe, base, ...taken };
      const made = await change(ctx, { action: 'template.created', details }, async (tx) =>
        insertTemplate(tx, { ...of, syncState: 'none' }),
      );
      return show(ctx, made);
    },
  };
}

function changeCalls(): Pick<Calls, 'update' | 'delete' | 'resync' | 'replaceServices'> {
  return {
    update: async (request, ctx: Ctx) => {
      const { templateId, visibility: number, ...fields } = request;
      const { id, teamId } = await templateToChange(ctx, templateId, 'changing a public template');
      const { name, description, buildPath, buildCommand } = fields;
      const visibility = number === undefined ? undefined : wordOf(number);
      if (visibility !== undefined) refusePublic(ctx, { teamId, visibility }, PUBLISHING);
      const set = Object.entries({ name, description, buildPath, buildCommand });
      const named = Object.fromEntries(set.filter(([, value]) => value !== undefined));
      const edited = { id, action: 'template.updated', ...(visibility && { set: { visibility } }) };
      return show(ctx, await edit(ctx, edited, (before) => ({ ...before, ...named })));
    },
    delete: async ({ templateId }, ctx: Ctx) => {
      const { id } = await templateToChange(ctx, templateId, 'deleting a public template');
      await change(ctx, { action: 'template.deleted', details }, async (tx) => templateRows.remove(tx, id));
      return {};
    },
    resync: async ({ templateId }, ctx: Ctx) => {
      const found = await templateToChange(ctx, templateId, 'reading the repository of a public template');
      const asked = await change(ctx, { action: 'template.resync_requested', details }, async (tx) => {
        const set = { syncState: 'pending', syncProblem: null } as const;
        const template = await templateRows.update(tx, found.id, { set });
        if (template !== undefined) await askResync(tx.db, template);
        return template;
      });
      return show(ctx, asked ?? found);
    },
    replaceServices: async ({ templateId, services: wanted }, ctx: Ctx) => {
      const { id } = await templateToChange(ctx, templateId, 'changing a public template');
      const services = wanted.map((each) => given(TemplateServiceSchema, each) as RecipeService);
      const edited = { id, action: 'template.services_replaced' };
      return show(ctx, await edit(ctx, edited, (before) => ({ ...before, services })));
    },
  };
}

const wordOf = (visibility: TemplateVisibility): Template['visibility'] =>
  enumWord(TemplateVisibilitySchema, visibility) as Template['visibility'];

const withCredentials = (): Error =>
  wrongField(
    'repository holds a user name, a password or a query, expected none: a template is seen by others; credentials are given to each environment',
    { field: 'repository', rule: 'credentials' },
  );

interface Edited {
  readonly id: string;
  readonly action: string;
  readonly set?: Pick<Changes<typeof templates>, 'visibility'>;
}

/** Changes a template by hand; a call that changes nothing is no act. */
async function edit(
  ctx: Ctx,
  { id, action, set }: Edited,
  next: (before: Recipe) => Recipe,
): Promise<Template> {
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const before = await templateRows.lock(tx, id);
    const recipe = next(before.recipe);
    checkRecipe(recipe);
    const fields = [
      ...differing(before.recipe, recipe),
      ...(set?.visibility !== undefined && set.visibility !== before.visibility ? ['visibility'] : []),
    ];
    if (fields.length === 0) return before;
    const act = { action, details: (row: Template) => ({ ...details(row), fields }) };
    const after = await change(tx, act, async (inner) =>
      revise(inner, before, { recipe, now: ctx.clock.now(), ...(set && { set }) }),
    );
    return after ?? before;
  });
}

/** Other teams see what they would deploy, and not how its repository is read. */
function show(
  ctx: Ctx,
  row: Template,
  computed: Partial<Pick<Recipe, 'variables' | 'services'>> = {},
): Message {
  const { recipe, base } = row;
  const isOwn = ctx.teams.teamIds.includes(row.teamId);
  const own = { overridden: [...differing(recipe, base)], kept: row.kept, warnings: row.warnings };
  const ofOthers = { overridden: [], kept: [], warnings: [], syncProblem: undefined };
  return shown(TemplateSchema, row, { ...recipe, ...computed, ...(isOwn ? own : ofOthers) });
}

export const templatesFeature = declareFeature({
  name: 'templates',
  on: {
    projects: projectsFeature,
    environments: environmentsFeature,
    variables: variablesFeature,
    steps: buildStepsFeature,
    storage: storageFeature,
    databases: databasesFeature,
    builds: buildsFeature,
    work: workFeature,
    connections: connectionsFeature,
    providers: providersFeature,
  },
  start: (system, { environments, builds, variables, work: { engine } }) => {
    const { secrets } = system;
    const missing: MissingVariables = async (who, { id }) =>
      await variables.unset(who, id, (await originOf(who, id))?.required ?? []);
    const { unset } = variables;
    const deps = { secrets, settings: engine.settings, environments, builds, unset };
    return {
      services: [createTemplates(deps)],
      jobs: [resyncJob(system)],
      fills: [
        findsByName(described(templates, 'project:read', templates.name)),
        fill(missingVariablesOf, missing),
      ],
    };
  },
});
