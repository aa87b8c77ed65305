/** The ledger of each team says when names of its environments are proved, and when they are so no more. */
// No TeamScope: asks whether any team has a domain, and shows no row.
import { DNS_ACTOR, ownerOf, type ProofFollower } from '../../access/verifieddomains/index.ts';
import type { Database } from '../../base/db/index.ts';
import { appendAudit, auditActor } from '../../kit/ledger/index.ts';

interface Name {
  readonly id: string;
  readonly teamId: string;
  readonly environmentId: string;
  readonly name: string;
}

/** A trigger changes the documents of runners, as a team that is deleted takes its proofs with it. */
export const followProofs: ProofFollower = async (tx, domain) => {
  const before = await provedBelow(tx.db, domain);
  return async () => {
    const after = await provedBelow(tx.db, domain);
    const actor = auditActor(tx);
    const lost = without(before, after).map((name) => ({ ...name, action: 'domain.lost' }));
    const proved = without(after, before).map((name) => ({ ...name, action: 'domain.verified' }));
    // Chains are locked in one order.
    const entries = [...lost, ...proved].toSorted((a, b) => (a.teamId < b.teamId ? -1 : 1));
    for (const { id, teamId, environmentId, name, action } of entries) {
      const act = {
        chain: teamId,
        action,
        target: id,
        details: { environmentId, name },
        // No team sees who acted for another one.
        actor: tx.teams.teamIds.includes(teamId) ? actor : DNS_ACTOR,
        requestId: tx.call.requestId,
      };
      await appendAudit(tx.db, act, tx.clock.now());
    }
  };
};

function without(names: readonly Name[], others: readonly Name[]): readonly Name[] {
  const ids = new Set(others.map(({ id }) => id));
  return names.filter(({ id }) => !ids.has(id));
}

/** Names that are the domain, or below it, of whichever team has proved them. */
async function provedBelow({ sql }: Database, domain: string): Promise<readonly Name[]> {
  const backwards = [...domain].toReversed().join('');
  const name = sql`reverse(d.name) collate "C"`;
  return await sql<Name[]>`
    select d.id, d.team_id as "teamId", d.environment_id as "environmentId", d.name from domains d
    where (${name} = ${backwards} or (${name} >= ${`${backwards}.`} and ${name} < ${`${backwards}/`}))
      and d.pool_key in ('', 'service') and ${ownerOf(sql, sql`d.name`)} = d.team_id
    order by d.team_id, d.id`;
}
