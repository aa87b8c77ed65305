/**
 * Answers whose a domain is. The question goes over all teams, and the answer is for the server: a caller is
 * shown rows of the own team alone.
 */
// No TeamScope: asks whether any team has a domain, and shows no row.
import type { Database } from '../../base/db/index.ts';
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
