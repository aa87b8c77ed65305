/** The document of an app has its names, and what the runner says of them is kept. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { ownerOf } from '../../access/verifieddomains/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import type { HostPart } from '../hosting/index.ts';

/** `pool_key` of names on the service's machines. */
export const SERVICE_POOL = 'service';

/**
 * Says whether the runner `u` serves the names of what is deployed as the row `h` of `host_apps`: Dokku
 * serves its own apps, and nothing else beside them.
 */
export function hasEdge(sql: SqlTag): Fragment {
  return sql`coalesce((u.host #>> '{edge,driver}' = 'dokku') = (h.kind = 'dokku'), false)`;
}

/** Builds the list of the names that are routed. A name without its pool is another environment's there. */
function namesOf(sql: SqlTag): Fragment {
  return sql`(
    select jsonb_agg(jsonb_build_object('name', d.name, 'ssl', e.ssl_enabled_at is not null) order by d.name collate "C")
    from domains d join environments e on e.id = d.environment_id join runners u on u.id = h.runner_id
    where d.environment_id = h.environment_id and d.pool_key <> '' and ${hasEdge(sql)}
      and (d.pool_key <> ${SERVICE_POOL} or ${ownerOf(sql, sql`d.name`)} = d.team_id)
  )`;
}

/** Builds the CTE that keeps what a runner said, which are ObservedDomains of the contract in JSON. */
function noteNames(sql: SqlTag): Fragment {
  const said = sql`case when jsonb_typeof(s.observed -> 'domains') = 'array' then s.observed -> 'domains' else '[]' end`;
  const columns = sql`name text, "dnsState" text, "dnsExpected" jsonb, "dnsSeen" jsonb, "certificateState" text, problem text,
    "nextAttemptAt" text, "notBefore" text, "notAfter" text, issuer text, serial text`;
  return sql`
    domains_noted as (
      update domains d set observed_at = clock_timestamp(),
        dns = jsonb_build_object('state', coalesce(nullif(o."dnsState", ''), 'unknown'),
          'expected', coalesce(o."dnsExpected", '[]'), 'seen', coalesce(o."dnsSeen", '[]')),
        certificate = jsonb_strip_nulls(jsonb_build_object('state', coalesce(nullif(o."certificateState", ''), 'none'),
          'problem', nullif(o.problem, ''), 'nextAttemptAt', o."nextAttemptAt", 'notBefore', o."notBefore",
          'notAfter', o."notAfter", 'issuer', nullif(o.issuer, ''), 'serial', nullif(o.serial, '')))
      from seen s cross join lateral jsonb_to_recordset(${said}) as o(${columns})
      where d.environment_id = s.environment_id and d.name = o.name and d.pool_key <> ''
    )`;
}

export const domainsPart: HostPart = { field: 'domains', select: namesOf, note: noteNames };
