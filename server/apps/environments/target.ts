/**
 * No environment is deployed over another one: an app belongs to one environment, and a guarded one has its
 * port of the host to itself.
 */
import { and, eq, ne, sql } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Guards } from './guards.ts';
import { environmentRows } from './rows.ts';
import type { Environment } from './rows.ts';
import { environments } from './schema.ts';
import type { Deploy } from './schema.ts';

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
