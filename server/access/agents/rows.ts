/** Agents and their keys as their rows have them. */
import { and, count, eq, gt, inArray, isNull, sql, type SQL } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';
import { inTeams, rowsOf, type RowOf, type Who } from '../../kit/resource/index.ts';
import { agentApprovals, agentKeys, agents } from './schema.ts';

export type Agent = RowOf<typeof agents>;
export type AgentKey = RowOf<typeof agentKeys>;

export const agentRows = rowsOf(agents);
export const keyRows = rowsOf(agentKeys);
export const approvalRows = rowsOf(agentApprovals);

export const isLiveKey = (now: Date): SQL | undefined =>
  and(isNull(agentKeys.revokedAt), gt(agentKeys.expiresAt, now));

/** Counts the live keys of each of these agents that has any. */
export async function liveKeys(
  { db, teams, clock }: Pick<Ctx, 'db' | 'teams' | 'clock'>,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = await db.orm
    .select({ agentId: agentKeys.agentId, live: count() })
    .from(agentKeys)
    .where(and(inTeams(agentKeys, teams), inArray(agentKeys.agentId, [...agentIds]), isLiveKey(clock.now())))
    .groupBy(agentKeys.agentId);
  return new Map(found.map(({ agentId, live }) => [agentId, live]));
}

/** Revokes live keys of the teams of the call. Returns how many. */
export async function revokeAgentKeys(
  { db, teams, clock }: Pick<Ctx, 'db' | 'teams' | 'clock'>,
  which: SQL,
): Promise<number> {
  const now = clock.now();
  const { count: revoked } = await db.orm
    .update(agentKeys)
    .set({ revokedAt: now })
    .where(and(inTeams(agentKeys, teams), which, isLiveKey(now)));
  return revoked;
}

/** Counts the requests of each of these agents that wait for a person. */
export async function openApprovals(
  { db, teams, clock }: Pick<Ctx, 'db' | 'teams' | 'clock'>,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { agentId, state, expiresAt } = agentApprovals;
  const waits = and(eq(state, 'requested'), gt(expiresAt, clock.now()));
  const found = await db.orm
    .select({ agentId, open: count() })
    .from(agentApprovals)
    .where(and(inTeams(agentApprovals, teams), inArray(agentId, [...agentIds]), waits))
    .groupBy(agentId);
  return new Map(found.map((each) => [each.agentId, each.open]));
}

/** Revokes what is open of the teams of the call. Returns how many. */
export async function revokeApprovals({ db, teams }: Who, which: SQL): Promise<number> {
  const isOpen = inArray(agentApprovals.state, ['requested', 'granted']);
  const { count: revoked } = await db.orm
    .update(agentApprovals)
    .set({ state: 'revoked', tokenDigest: null })
    .where(and(inTeams(agentApprovals, teams), which, isOpen));
  return revoked;
}

/** Throws `agent_disabled`. */
export function refuseDisabled({ name, enabled }: Pick<Agent, 'name' | 'enabled'>): void {
  if (enabled) return;
  throw apiError('agent_disabled', `the agent ${name} is switched off; switch it on with agents.setEnabled`);
}

/** Throws `sponsor_missing` unless the person is a member of the team. */
export async function requireSponsor(
  { db, teams }: Who,
  { teamId, sponsorUserId }: Pick<Agent, 'teamId' | 'sponsorUserId'>,
): Promise<void> {
  teams.require(teamId);
  const [member] = await db.sql`
    select from team_members where team_id = ${teamId} and user_id = ${sponsorUserId}`;
  if (member !== undefined) return;
  throw apiError(
    'sponsor_missing',
    `the sponsor ${sponsorUserId} is no member of the team; name somebody who is with agents.update`,
    { details: { sponsorUserId } },
  );
}

/** Finds an agent that is switched on and holds the permission, among the teams of the call. */
export async function ableAgent(
  { db, teams }: Who,
  { id, permission }: { readonly id: string; readonly permission: string },
): Promise<Agent | undefined> {
  const [found] = await db.orm
    .select()
    .from(agents)
    .where(
      and(
        eq(agents.id, id),
        inTeams(agents, teams),
        agents.enabled,
        sql`${permission} = any(${agents.permissions})`,
      ),
    );
  return found;
}
