/** Environments with builds that have not ended are not deleted, alone or with their project. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';

/** Builds that a refusal names. */
const NAMED_MAX = 10;

interface Locked {
  readonly id: string;
  readonly name: string;
}

/**
 * A build whose rows were gone would go on at its runner: nobody could see it, stop it, or be told how it ended. Takes the locks that submission takes, so that
 * no build appears before the caller's transaction ends. Returns the environments that go.
 */
export async function refuseOpenBuilds(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  of: { readonly projectId: string } | { readonly environmentId: string },
): Promise<readonly Locked[]> {
  const teamIds = [...teams.teamIds];
  const which = 'projectId' in of ? sql`project_id = ${of.projectId}` : sql`id = ${of.environmentId}`;
  const environments = await sql<Locked[]>`
    select id, name from environments where ${which} and team_id = any(${teamIds}::text[]) order by id for no key update`;
  const ids = environments.map(({ id }) => id);
  const builds = await sql<Array<{ id: string }>>`
    select id from builds where environment_id = any(${ids}::text[]) and team_id = any(${teamIds}::text[]) and finished_at is null
    order by created_at, id limit ${NAMED_MAX}::int`;
  const [first] = builds;
  if (first === undefined) return environments;
  throw apiError(
    'in_use',
    `builds that have not ended are in the way, such as ${first.id}; cancel them or wait for their end`,
    { details: { resource: 'environment', builds: builds.map(({ id }) => id) } },
  );
}
