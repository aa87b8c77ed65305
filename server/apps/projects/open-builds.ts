/** Environments with builds that have not ended are not deleted, alone or with their project. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Database } from '../../platform/db/index.ts';

/** Builds that a refusal names. */
const NAMED_MAX = 10;

/**
 * A build whose rows were gone would go on at its runner: nobody could see it, stop it, or be told how it ended. Takes the locks that submission takes, so that
 * no build appears before the caller's transaction ends.
 */
export async function refuseOpenBuilds(
  { sql }: Database,
  teamId: string,
  environmentIds: readonly string[],
): Promise<void> {
  const ids = [...environmentIds];
  await sql`
    select from environments where id = any(${ids}::text[]) and team_id = ${teamId} order by id for no key update`;
  const builds = await sql<Array<{ id: string }>>`
    select id from builds where environment_id = any(${ids}::text[]) and team_id = ${teamId} and finished_at is null
    order by created_at, id limit ${NAMED_MAX}::int`;
  const [first] = builds;
  if (first === undefined) return;
  throw apiError(
    'in_use',
    `builds that have not ended are in the way, such as ${first.id}; cancel them or wait for their end`,
    { details: { resource: 'environment', builds: builds.map(({ id }) => id) } },
  );
}
