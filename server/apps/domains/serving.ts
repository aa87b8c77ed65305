/** The document of an app has its names, and what the runner says of them is kept. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { ownerOf } from '../../access/verifieddomains/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { rowId, type Fragment } from '../../base/sql.ts';
import type { HostPart } from '../hosting/index.ts';

export const CERTIFICATE_FAILED = 'certificate.failed';

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

/** People are told of a certificate that fails for so often, or that ends so soon and fails to be renewed. */
const FAILURES_TOLD = 3;
const DAYS_TOLD = 7;

/**
 * Builds the CTEs that keep what a runner said, which are ObservedDomains of the contract in JSON, and that
 * tell people of certificates that fail: once until there is one again.
 */
function noteNames(sql: SqlTag): Fragment {
  const said = sql`case when jsonb_typeof(s.observed -> 'domains') = 'array' then s.observed -> 'domains' else '[]' end`;
  const columns = sql`name text, "dnsState" text, "dnsExpected" jsonb, "dnsSeen" jsonb, "certificateState" text, problem text,
    "nextAttemptAt" text, "notBefore" text, "notAfter" text, issuer text, serial text, "certificateFailures" int`;
  const failures = sql`coalesce(o."certificateFailures", 0)`;
  const endsSoon = sql`(o."notAfter")::timestamptz < now() + ${DAYS_TOLD}::int * interval '1 day'`;
  const isFailing = sql`(${failures} >= ${FAILURES_TOLD}::int or (${endsSoon} and (${failures} > 0 or o."certificateState" = 'waiting_dns')))`;
  return sql`
    domains_noted as (
      update domains d set observed_at = clock_timestamp(),
        dns = jsonb_build_object('state', coalesce(nullif(o."dnsState", ''), 'unknown'),
          'expected', coalesce(o."dnsExpected", '[]'), 'seen', coalesce(o."dnsSeen", '[]')),
        certificate = jsonb_strip_nulls(jsonb_build_object('state', coalesce(nullif(o."certificateState", ''), 'none'),
          'problem', nullif(o.problem, ''), 'nextAttemptAt', o."nextAttemptAt", 'notBefore', o."notBefore",
          'notAfter', o."notAfter", 'issuer', nullif(o.issuer, ''), 'serial', nullif(o.serial, ''))),
        certificate_failing_since = case when ${isFailing} then coalesce(d.certificate_failing_since, now())
          when o."certificateState" in ('none', 'active') and ${failures} = 0 then null else d.certificate_failing_since end
      from seen s cross join lateral jsonb_to_recordset(${said}) as o(${columns})
      where d.environment_id = s.environment_id and d.name = o.name and d.pool_key <> ''
      returning d.id, d.team_id, d.environment_id, d.name, d.display_name, d.certificate, d.certificate_failing_since as since, ${failures} as failures
    ),
    certificates_told as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${rowId(sql, 'evt')}, n.team_id, ${CERTIFICATE_FAILED}, n.id || ' ' || extract(epoch from n.since),
        jsonb_strip_nulls(jsonb_build_object('domainId', n.id, 'environmentId', n.environment_id, 'domain', n.name, 'failures', n.failures,
          'notAfter', n.certificate ->> 'notAfter', 'problem', n.certificate ->> 'problem',
          'title', 'No certificate is got for ' || n.display_name,
          'body', coalesce('The present one ends at ' || (n.certificate ->> 'notAfter') || '. ', '') || coalesce(n.certificate ->> 'problem', 'the authority refuses it')
            || '; svc domains check ' || n.environment_id)), now()
      from domains_noted n where n.since = now()
      on conflict (kind, dedupe_key) do nothing
    )`;
}

export const domainsPart: HostPart = { field: 'domains', select: namesOf, note: noteNames };
