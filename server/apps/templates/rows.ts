/**
 * Templates are found for callers: those of their teams, and public ones of others, which nobody but their
 * team changes. Each change of the content is a revision.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { and, desc, eq, lt, or, sql, type SQL } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Database } from '../../base/db/index.ts';
import { requireRole, requireTeam } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage, type PageRequest } from '../../kit/paging.ts';
import {
  inTeams,
  rowsOf,
  unlessTaken,
  type Changes,
  type NewRow,
  type RowOf,
  type Who,
} from '../../kit/resource/index.ts';
import { differing, recipeProblem, type Recipe } from './recipe.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { templateRevisions, templates } from './schema.ts';

export const templateRows = rowsOf(templates);
export type Template = RowOf<typeof templates>;

const TEMPLATES_MAX = 200;
/** Older ones go, unless an environment was made from them. */
const REVISIONS_KEPT = 100;

const isPublic = eq(templates.visibility, 'public');
const isId = (text: string): boolean => text.startsWith('tpl_');

const select = ({ orm }: Database, where: SQL | undefined) => orm.select().from(templates).where(where);

/** Finds one that the caller sees; the first of its team, by a slug. */
export async function findTemplate(who: Who, idOrSlug: string): Promise<Template> {
  const found = await seenTemplate(who, idOrSlug);
  if (found === undefined) throw notFound(templateRows.kind);
  return found;
}

export async function seenTemplate(who: Who, idOrSlug: string): Promise<Template | undefined> {
  const own = await ownTemplate(who, idOrSlug);
  if (own !== undefined) return own;
  const named = eq(isId(idOrSlug) ? templates.id : templates.slug, idOrSlug);
  return (await select(who.db, and(named, isPublic)))[0];
}

/** Finds one that the caller may change, since it is of a team of his. */
export async function templateToChange(who: Who, idOrSlug: string, act: string): Promise<Template> {
  const found = await ownTemplate(who, idOrSlug);
  if (found === undefined) throw notFound(templateRows.kind);
  refusePublic(who, found, act);
  return found;
}

/** Admins and owners alone change a template that everybody deploys. */
export function refusePublic(
  { teams }: Pick<Who, 'teams'>,
  { teamId, visibility }: Pick<Template, 'teamId' | 'visibility'>,
  act: string,
): void {
  if (visibility === 'public') requireRole(teams.role(teamId), 'admin', { act });
}

async function ownTemplate(who: Who, idOrSlug: string): Promise<Template | undefined> {
  const column = isId(idOrSlug) ? templates.id : templates.slug;
  const [found, ...others] = await templateRows.list(who, { where: eq(column, idOrSlug) });
  if (others.length > 0 && found !== undefined) throw isOfSeveral(idOrSlug, [found, ...others]);
  if (found !== undefined) who.teams.require(found.teamId);
  return found;
}

function isOfSeveral(slug: string, found: readonly Template[]): Error {
  const named = found.map(({ id, teamId }) => `${id} (team ${teamId})`).join(', ');
  return apiError(
    'state_conflict',
    `"${slug}" is the slug of ${found.length} templates of your teams: ${named}; give the id of the one that is meant`,
    {
      details: {
        resource: templateRows.kind,
        slug,
        templates: found.map(({ id, teamId }) => ({ id, teamId })),
      },
    },
  );
}

/** Returns a page of the templates of the caller's teams and of public ones, or of those of one team. */
export async function pageOfTemplates(
  ctx: Ctx,
  request: PageRequest & { readonly teamId?: string | undefined },
) {
  const { teamId } = request;
  const page = openPage(ctx, `${ctx.caller.userId}|${teamId ?? ''}`, request);
  const own = inTeams(templates, ctx.teams);
  const seen =
    teamId === undefined ? or(own, isPublic) : and(own, eq(templates.teamId, requireTeam(ctx.teams, teamId)));
  const after = page.after && lt(templates.id, String(page.after[0]));
  const rows = await select(ctx.db, and(seen, after)).orderBy(desc(templates.id)).limit(page.take);
  return closePage(page, rows, ({ id }) => [id]);
}

/** Refuses a recipe that is none, in a call of a person. */
export function checkRecipe(recipe: Recipe): void {
  const problem = recipeProblem(recipe);
  if (problem === undefined) return;
  const { field, message } = problem;
  throw wrongField(`${field} ${message}`, { field, rule: 'recipe' });
}

type Made = Pick<NewRow<typeof templates>, 'teamId' | 'slug' | 'visibility' | 'repository' | 'branch'> & {
  readonly recipe: Recipe;
  readonly base: Recipe;
  readonly syncState: Template['syncState'];
  readonly warnings?: readonly string[];
};

/** The caller has begun a transaction. */
export async function insertTemplate(tx: Ctx, made: Made): Promise<Template> {
  const { teamId, slug } = made;
  checkRecipe(made.recipe);
  await templateRows.atMost(tx, { teamId, max: TEMPLATES_MAX });
  const updatedAt = tx.clock.now();
  const row = { kept: [], warnings: [], ...made, revision: 1, updatedAt };
  const template = await unlessSlugTaken(slug, templateRows.insert(tx, row));
  await insertRevision(tx, template, updatedAt);
  return template;
}

export const unlessSlugTaken = async <T>(slug: string, work: Promise<T>): Promise<T> => {
  const taken = { resource: templateRows.kind, field: 'slug', value: slug };
  const inTeam = unlessTaken(work, { ...taken, index: 'templates_slug' });
  return await unlessTaken(inTeam, { ...taken, index: 'templates_public_slug' });
};

export interface Revised {
  readonly recipe: Recipe;
  readonly set?: Changes<typeof templates>;
  readonly now: Date;
}

/**
 * Changes a template whose row the transaction has locked. The same recipe is no new revision. Returns
 * undefined when it is gone.
 */
export async function revise(
  tx: Who,
  before: Template,
  { recipe, set, now }: Revised,
): Promise<Template | undefined> {
  const isNew = differing(before.recipe, recipe).length > 0;
  const changes = isNew ? { recipe, revision: before.revision + 1, updatedAt: now } : {};
  const after = await unlessSlugTaken(
    before.slug,
    templateRows.update(tx, before.id, { set: { ...set, ...changes } }),
  );
  if (isNew && after !== undefined) await insertRevision(tx, after, now);
  return after;
}

async function insertRevision(
  { db }: Pick<Who, 'db'>,
  { id: templateId, revision, recipe, sourceCommit }: Template,
  createdAt: Date,
): Promise<void> {
  const { orm } = db;
  await orm.insert(templateRevisions).values({ templateId, revision, recipe, sourceCommit, createdAt });
  if (revision <= REVISIONS_KEPT) return;
  await orm
    .delete(templateRevisions)
    .where(
      and(
        eq(templateRevisions.templateId, templateId),
        lt(templateRevisions.revision, revision - REVISIONS_KEPT),
        sql`not exists (select from template_environments e where e.template_id = ${templateRevisions.templateId} and e.revision = ${templateRevisions.revision})`,
      ),
    );
}
