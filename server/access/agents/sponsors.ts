/**
 * Somebody leaves a team: the keys of agents that they issued end, since they were shown them, and what they
 * approved ends; agents that they answer for get no new key until somebody else does, which the admins are
 * told.
 */
import { and, eq, sql } from 'drizzle-orm';
import type { MemberLeft } from '../teams/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { CredentialChanges } from '../../kit/credential-changes.ts';
import { addEvent } from '../../kit/events/index.ts';
import { inTeams } from '../../kit/resource/index.ts';
import { revokeAgentKeys, revokeApprovals } from './rows.ts';
import { agentApprovals, agentKeys, agents } from './schema.ts';

export function createSponsors({ changes }: { readonly changes: CredentialChanges }): MemberLeft {
  return async ({ db, clock }, { teamId, userId }) => {
    const tx = { db, clock, teams: systemScope(teamId) };
    if ((await revokeAgentKeys(tx, eq(agentKeys.issuedBy, userId))) > 0)
      await changes.announce(db, { teamId });
    const granted = and(eq(agentApprovals.decidedBy, userId), eq(agentApprovals.state, 'granted'));
    await revokeApprovals(tx, granted ?? sql`false`);
    const sponsored = await db.orm
      .select({ id: agents.id, name: agents.name })
      .from(agents)
      .where(and(inTeams(agents, tx.teams), eq(agents.sponsorUserId, userId)));
    const at = clock.now();
    for (const { id, name } of sponsored) {
      const payload = {
        agentId: id,
        name,
        title: `The sponsor of the agent ${name} has left the team`,
        body: `It is issued no key until somebody else answers for it: svc agents update ${id} --team ${teamId} --sponsor-user-id …`,
      };
      const key = `${id} ${userId} ${at.toISOString()}`;
      await addEvent(db, { teamId, kind: 'agent.sponsor_left', key, payload, at });
    }
  };
}
