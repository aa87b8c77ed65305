/**
 * Answers whose a domain is. The question goes over all teams, and the answer is for the server: a caller is
 * shown rows of the own team alone.
 */
// No TeamScope: asks whether any team has a domain, and shows no row.
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { withParents } from './domain-name.ts';

export interface Owner {
  readonly id: string;
  readonly teamId: string;
  readonly lastCheckedAt: Date;
}

/**
 * Returns whether the team has proved the domain, or one above it. Of several the nearest counts:
 * `a.example.com` of one team is not covered by `example.com` of another. `domain` is what `parseDomain`
 * gives.
 */
export async function isVerified(db: Database, teamId: string, domain: string): Promise<boolean> {
  return (await nearestOwner(db, withParents(domain)))?.teamId === teamId;
}

/** Finds the owner of the first of these domains, longest first, that is verified, whichever team has it. */
export async function nearestOwner(
  { sql }: Database,
  domains: readonly string[],
): Promise<Owner | undefined> {
  const [nearest] = await sql<Owner[]>`
    select id, team_id as "teamId", last_checked_at as "lastCheckedAt" from verified_domains
    where state = 'verified' and domain = any(${[...domains]}::text[])
    order by length(domain) desc limit 1`;
  return nearest;
}

/**
 * Builds the same question as a scalar: the id of the team that owns the host name, in SQL, or null. A name
 * that begins with `*.` is owned as the name below it.
 */
export function ownerOf(sql: SqlTag, hostName: Fragment): Fragment {
  const labels = sql`string_to_array(ltrim(${hostName}, '*.'), '.')`;
  return sql`(
    select v.team_id from generate_subscripts(${labels}, 1) n
    join verified_domains v on v.state = 'verified' and v.domain = array_to_string((${labels})[n:], '.')
    order by n limit 1
  )`;
}
