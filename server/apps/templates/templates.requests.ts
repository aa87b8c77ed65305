/** The tests of the contract send these requests, one for each RPC. */
import { environment, nothing, once, type Requests } from '../../../test/contract/requests.ts';
import { EMPTY } from './recipe.ts';

const repository = 'https://git.example.com/acme/app';

/**
 * The row is made by hand, so that nothing waits for a host that is not there. It lacks a variable: an open
 * build would keep from being deleted what the matrix deletes.
 */
const template = once(async ({ sql, teamId }) => {
  const templateId = 'tpl_00000000000000000000000001';
  const variables = [{ name: 'NEEDED', required: true, secret: false }];
  const recipe = JSON.stringify({ ...EMPTY, name: 'matrix', buildCommand: 'make', variables });
  await sql`
    insert into templates (id, team_id, slug, visibility, repository, recipe, base, revision, sync_state, kept, warnings, created_at, updated_at)
    values (${templateId}, ${teamId}, 'matrix', 'team', ${repository}, ${recipe}::text::jsonb, ${recipe}::text::jsonb, 1, 'none', '[]', '[]', now(), now())`;
  return { templateId };
});

/** The row is made by hand for the same reason. */
const made = once(async (world) => {
  const { templateId } = await template(world);
  const { sql, teamId, environmentId } = world;
  await sql`
    insert into template_environments (environment_id, team_id, template_id, revision, required)
    values (${environmentId}, ${teamId}, ${templateId}, 1, '{}')`;
  return { environmentId };
});

/** It gives nothing to anybody, and changes nothing that is guarded. */
const NOTHING = { gives: 'nothing', guards: 'nothing' } as const;
const service = 'svc.templates.v1.TemplatesService';

export const requests: Requests = {
  [`${service}/Create`]: {
    ...NOTHING,
    fields: ({ teamId }) => ({ name: 'a', slug: 'by-matrix', repository, visibility: 'team', teamId }),
  },
  [`${service}/CreateFromEnvironment`]: {
    ...NOTHING,
    statements: 11,
    fields: (world) => ({ ...environment(world), name: 'of the matrix' }),
  },
  [`${service}/Delete`]: { ...NOTHING, fields: template, last: 1 },
  [`${service}/Deploy`]: {
    ...NOTHING,
    statements: 18,
    fields: async (world) => ({
      ...(await template(world)),
      projectId: world.projectId,
      name: 'deployed-by-matrix',
    }),
  },
  [`${service}/Get`]: { gives: 'nothing', fields: template },
  [`${service}/List`]: { gives: 'nothing', fields: nothing },
  [`${service}/OfEnvironment`]: { gives: 'nothing', fields: made },
  [`${service}/ReplaceServices`]: {
    ...NOTHING,
    fields: async (world) => ({ ...(await template(world)), services: [] }),
  },
  [`${service}/Resync`]: { ...NOTHING, fields: template },
  [`${service}/Update`]: {
    ...NOTHING,
    fields: async (world) => ({ ...(await template(world)), buildCommand: 'true' }),
  },
};
