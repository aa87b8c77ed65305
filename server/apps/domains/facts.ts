/** This file reads what is known of names beside their rows: where they lead, and who has proved them. */
import { ownerOf } from '../../access/verifieddomains/index.ts';
import { notFound } from '../../kit/not-found.ts';
import type { Database } from '../../base/db/index.ts';
import type { TeamScope } from '../../kit/context.ts';
import { hasEdge, SERVICE_POOL } from './serving.ts';

/** Everything of the runner and its machine is null, or false, before the environment is on one. */
export interface Place {
  /** Kind of the environment's deploy target. */
  readonly target: 'container' | 'dokku' | null;
  /** Kind of what is deployed. */
  readonly kind: 'container' | 'dokku' | null;
  readonly runnerId: string | null;
  readonly isDeployed: boolean;
  readonly hasEdge: boolean;
  /** It gets certificates. */
  readonly hasIssuer: boolean;
  /** The machine is the service's, or will be as far as the team's region says it. */
  readonly inServicePool: boolean;
  readonly sslEnabledAt: Date | null;
  /** As the runner said it. */
  readonly address: string | null;
}

export interface Proof {
  /** Team whose verified domain is nearest to the name. */
  readonly owner: string | null;
  /** Sentence about the last look-up of the team's own record. */
  readonly problem: string | null;
}

export interface Facts extends Place {
  /** Its keys are ids of domains. */
  readonly proofs: Readonly<Record<string, Proof>>;
}

export async function readFacts({ sql }: Database, scope: TeamScope, environmentId: string): Promise<Facts> {
  const [facts] = await sql<Facts[]>`
    select e.deploy ->> 'kind' as target, h.kind, h.runner_id as "runnerId", h.build_id is not null as "isDeployed",
      ${hasEdge(sql)} as "hasEdge", coalesce(jsonb_array_length(u.host #> '{edge,solvers}') > 0, false) as "hasIssuer", coalesce(o.service_pool, g.operator = 'service') as "inServicePool",
      e.ssl_enabled_at as "sslEnabledAt", coalesce(nullif(h.observed ->> 'address', ''), b.address) as address,
      coalesce((
        select jsonb_object_agg(d.id, jsonb_build_object('owner', ${ownerOf(sql, sql`d.name`)}, 'problem', p.last_problem))
        from domains d left join verified_domains p on p.team_id = d.team_id and p.domain = ltrim(d.name, '*.')
        where d.environment_id = e.id
      ), '{}') as proofs
    from environments e join teams t on t.id = e.team_id join regions g on g.id = t.region_id
    left join host_apps h on h.environment_id = e.id
    left join builds b on b.id = h.build_id
    left join runners u on u.id = h.runner_id left join teams o on o.id = u.team_id
    where e.team_id = any(${[...scope.teamIds]}::text[]) and e.id = ${environmentId}`;
  if (facts === undefined) throw notFound('environment');
  return facts;
}

/** Returns the pool of the names of an environment; empty: it is on no machine yet. */
export function poolOf({ runnerId, inServicePool }: Place): string {
  if (runnerId === null) return '';
  return inServicePool ? SERVICE_POOL : runnerId;
}

/**
 * Keeps the environment from getting onto a machine until the transaction ends: a name that is added
 * meanwhile would not go with it. Proofs do not change meanwhile either.
 */
export async function holdPlace({ sql }: Database, scope: TeamScope, environmentId: string): Promise<void> {
  await sql`
    select pg_advisory_xact_lock_shared(hashtextextended('proofs of domains', 0))
    from (
      select from environments e where e.team_id = any(${[...scope.teamIds]}::text[]) and e.id = ${environmentId} for update
    ) held`;
}
