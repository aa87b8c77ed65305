/** Environments with builds that have not ended are not deleted, alone or with their project. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';
import { environments } from './schema.ts';
import type { Environment } from './rows.ts';
import { and, asc, eq } from 'drizzle-orm';
import { inTeams } from '../../kit/resource/index.ts';

/** A refusal names so many builds. */
const NAMED_MAX = 10;

/** Returns ids of builds of the environments that have not ended, the oldest first, at most so many. */
export type OpenBuilds = (
  tx: Pick<Ctx, 'db' | 'teams'>,
  environmentIds: readonly string[],
  max: number,
) => Promise<readonly string[]>;

/**
 * A build whose rows were gone would go on at its runner: nobody could see it, stop it, or be told how it
 * ended. Takes the locks that submission takes, so that no build appears before the caller's transaction
 * ends. Returns the environments that go.
 */
export async function refuseOpenBuilds(
  openBuilds: OpenBuilds,
  tx: Pick<Ctx, 'db' | 'teams'>,
  of: { readonly projectId: string } | { readonly environmentId: string },
): Promise<ReadonlyArray<Pick<Environment, 'id' | 'name'>>> {
  const which =
    'projectId' in of ? eq(environments.projectId, of.projectId) : eq(environments.id, of.environmentId);
  const locked = await tx.db.orm
    .select({ id: environments.id, name: environments.name })
    .from(environments)
    .where(and(inTeams(environments, tx.teams), which))
    .orderBy(asc(environments.id))
    .for('no key update');
  const ids = locked.map(({ id }) => id);
  const builds = await openBuilds(tx, ids, NAMED_MAX);
  const [first] = builds;
  if (first === undefined) return locked;
  throw apiError(
    'in_use',
    `builds that have not ended are in the way, such as ${first}; cancel them or wait for their end`,
    { details: { resource: 'environment', builds } },
  );
}
