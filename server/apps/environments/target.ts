/**
 * No environment is deployed over another one: an app belongs to one environment, and a guarded one has its
 * port of the host to itself.
 */
import { and, asc, eq, ne, sql } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Guards } from './guards.ts';
import { environmentRows, type Environment } from './rows.ts';
import { environments, type Deploy } from './schema.ts';
import { inTeams } from '../../kit/resource/index.ts';

interface Targeted extends Pick<Environment, 'id' | 'teamId'> {
  readonly deploy?: Deploy | null | undefined;
  readonly runner?: Environment['runner'] | undefined;
}

/**
 * Another environment of the team that deploys this app. A statement that is refused by the index cannot ask
 * any more, so it is asked before.
 */
export async function refuseTakenApp(tx: Ctx, { id, teamId, deploy }: Targeted): Promise<void> {
  if (deploy === null || deploy === undefined) return;
  const { kind, app } = deploy;
  const [holder] = await environmentRows.list(tx, {
    where: and(
      eq(environments.teamId, teamId),
      sql`${environments.deploy} is not null`,
      sql`${environments.deploy} ->> 'kind' = ${kind}`,
      sql`${environments.deploy} ->> 'app' = ${app}`,
      ne(environments.id, id),
    ),
  });
  if (holder === undefined) return;
  throw apiError(
    'name_taken',
    `environment "${holder.name}", ${holder.id}, of the team deploys the ${kind} app "${app}" already, and each would replace the other's; choose another app name`,
    { details: { resource: 'app', environmentId: holder.id } },
  );
}

/**
 * Whoever answers at the port of a guarded environment is taken for it. Only on runners that may be those of
 * the other one: elsewhere the port is another one.
 */
export async function refuseGuardedPort(
  tx: Ctx,
  guards: Guards,
  { id, teamId, deploy, runner }: Targeted,
): Promise<void> {
  const port = deploy?.hostPort ?? 0;
  if (port === 0) return;
  const others = await environmentRows.list(tx, {
    where: and(
      eq(environments.teamId, teamId),
      sql`(${environments.deploy} ->> 'hostPort')::int = ${port}`,
      ne(environments.id, id),
    ),
  });
  for (const other of others.filter((each) => mayMeet(each.runner, runner ?? null)))
    await guards.refuse(tx, other, {
      act: `deploying to port ${port} of the host, as another environment does,`,
    });
}

/** Returns whether one runner may satisfy both: it is of one group, and has one value of each label. */
export function mayMeet(one: Environment['runner'], other: Environment['runner']): boolean {
  if (one === null || other === null) return true;
  const { group: group1, labels: labels1 = {} } = one;
  const { group: group2, labels: labels2 = {} } = other;
  if (group1 !== undefined && group2 !== undefined && group1 !== group2) return false;
  return Object.entries(labels1).every(([key, value]) => (labels2[key] ?? value) === value);
}

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
