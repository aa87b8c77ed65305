/**
 * Finds the one runner whose machine hosts an environment. It is that of the last deploy. Before the first
 * deploy it is chosen: it is there, may have the environment's builds, and hosts the fewest apps.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { apiError } from '@svc/proto/http/errors.ts';
import type { Environment } from '../../apps/environments/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import type { WorkSettings } from '../work/index.ts';
import { isAble } from './pool-facts.ts';
import type { HostFacts } from './schema.ts';

export interface HostRunner {
  readonly id: string;
  readonly name: string;
  /** The machine is of the service's pool. */
  readonly shared: boolean;
  /** It is revoked, or of another pool than the team's work goes to now. */
  readonly gone: boolean;
  readonly host: HostFacts | null;
}

type Placed = Pick<Environment, 'id' | 'teamId' | 'deploy' | 'runner'>;

const columns = (sql: SqlTag): Fragment => sql`
  r.id, r.name, r.host, p.service_pool as shared, r.revoked_at is not null or r.team_id <> ${poolOf(sql)} as gone`;

const poolOf = (sql: SqlTag): Fragment => sql`
  (select case g.operator when 'customer' then t.id else (select s.id from teams s where s.service_pool) end from regions g where g.id = t.region_id)`;

/** Returns undefined before the first deploy, unless one was chosen. */
export async function hostRunnerOf(
  sql: SqlTag,
  { id, teamId }: Pick<Placed, 'id' | 'teamId'>,
): Promise<HostRunner | undefined> {
  const [row] = await sql<HostRunner[]>`
    select ${columns(sql)} from host_apps h join runners r on r.id = h.runner_id join teams p on p.id = r.team_id join teams t on t.id = h.team_id
    where h.environment_id = ${id} and h.team_id = ${teamId}`;
  return row;
}

/**
 * Chooses one where there is none yet, under the environment's lock. Throws `environment_incomplete` without
 * a deploy target, and `host_unavailable` where no runner is able to.
 *
 * @param ability Field of the runner's HostFacts that must be true.
 */
export async function chooseHostRunner(
  sql: SqlTag,
  settings: WorkSettings,
  {
    environment,
    ability,
    what,
  }: { readonly environment: Placed; readonly ability: 'volumes' | 'databases'; readonly what: string },
): Promise<HostRunner> {
  const { id, teamId, deploy, runner } = environment;
  if (deploy === null)
    throw apiError(
      'environment_incomplete',
      `the environment has no deploy target, ${what} needs one; set it with environments.update`,
    );
  const there = await hostRunnerOf(sql, environment);
  if (there !== undefined) {
    if (there.host?.[ability] === true) return there;
    throw unavailable(
      `the runner ${there.name}, on whose machine the environment is, offers no ${ability}: upgrade it, or see svc-runner run --help there`,
    );
  }
  const [chosen] = await sql<HostRunner[]>`
    with chosen as (
      select ${columns(sql)}
      from teams t join runners r on r.team_id = ${poolOf(sql)} join teams p on p.id = r.team_id
      where t.id = ${teamId} and ${isAble(sql, settings)} and (r.host ->> ${ability}::text)::boolean
        and (${runner?.group ?? null}::text is null or exists (select from runner_groups g where g.id = r.group_id and g.name = ${runner?.group ?? null}::text))
        and runner_labels(r) @> ${sql.json(runner?.labels ?? {})}::jsonb
      order by (select count(*) from host_apps h where h.runner_id = r.id), r.id limit 1
    ),
    placed as (
      insert into host_apps (environment_id, team_id, runner_id, kind, app, container_port)
      select ${id}, ${teamId}, c.id, ${deploy.kind}, ${deploy.app}, ${deploy.containerPort}::int from chosen c
    )
    select * from chosen`;
  if (chosen !== undefined) return chosen;
  throw unavailable(
    `no runner that may have the environment's builds is in contact and offers ${ability}; start one, or upgrade it`,
  );
}

const unavailable = (message: string): Error => apiError('host_unavailable', message);
