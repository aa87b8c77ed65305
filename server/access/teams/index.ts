/** The feature keeps teams, their members and invitations. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { InviteSchema, TeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { accountsFeature, teamsOfAccount } from '../accounts/index.ts';
import { apiKeysFeature } from '../apikeys/index.ts';
import { regionsFeature } from '../../engine/regions/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill, filledOnce, port } from '../../kit/feature.ts';
import { shown } from '../../kit/resource/index.ts';
import { roleName } from '../../kit/scopes.ts';
import { createAdminTeams } from './admin-teams.ts';
import { acceptInvite } from './accept-invite.ts';
import {
  changeMemberRole,
  changeTeam,
  confirmInvite,
  createTeam,
  dropMember,
  invite,
  removeTeam,
  revokeInvite,
  teamOf,
} from './acts.ts';
import type { TeamBilling, TeamCredit, TeamsDeps, TeamWork } from './acts.ts';
import { ofAccount } from './hand-over.ts';
import { listInvites } from './invites.ts';
import { showMember, showTeam } from './present.ts';
import { listMembers, listTeams } from './store.ts';
import { settings } from './teams.settings.ts';

export type { TeamBilling, TeamCredit, TeamWork } from './acts.ts';
export { regionOfTeam } from './region.ts';
export { becomePayer, payerOf, payingFor, teamsPaidBy, teamsPaidWith } from './payers.ts';
export type { PaidTeam, Paying } from './payers.ts';
export { findTeam, insertMember, insertTeam, lockTeam, updateTeam } from './store.ts';

export const teamWork = port<TeamWork>('work of teams');
export const teamCredit = port<TeamCredit>('credit of teams');
export const teamBillingPort = port<TeamBilling>('billing of teams');

function createTeams(deps: TeamsDeps): Handlers<Ctx> {
  return implement(TeamsService, {
    list: async (_request, { db, teams }: Ctx) => ({
      teams: (await listTeams(db, teams)).map((team) => showTeam(team, teams.role(team.id))),
    }),
    get: async ({ teamId }, ctx: Ctx) => showTeam(await teamOf(ctx.db, teamId), ctx.teams.role(teamId)),
    create: async (request, ctx: Ctx) => showTeam(await createTeam(deps, ctx, request), 'owner'),
    update: async (request, ctx: Ctx) =>
      showTeam(await changeTeam(ctx, request), ctx.teams.role(request.teamId)),
    delete: async ({ teamId }, ctx: Ctx) => {
      await removeTeam(deps, ctx, teamId);
      return {};
    },
    billing: async ({ teamId }, ctx: Ctx) => await deps.billing().ofTeam(ctx, teamId),
    listMembers: async ({ teamId }, ctx: Ctx) => ({
      members: (await listMembers(ctx.db, teamId)).map(showMember),
    }),
    updateMemberRole: async ({ teamId, userId, role }, ctx: Ctx) =>
      showMember(await changeMemberRole(deps, ctx, { teamId, userId, role: roleName(role) })),
    removeMember: async (which, ctx: Ctx) => {
      await dropMember(deps, ctx, which);
      return {};
    },
    listInvites: async ({ teamId }, ctx: Ctx) => ({
      invites: (await listInvites(ctx.db, teamId, ctx.clock.now())).map((each) => shown(InviteSchema, each)),
    }),
    inviteMember: async (request, ctx: Ctx) => {
      const made = await invite(ctx, request);
      return { invite: shown(InviteSchema, made), token: made.token };
    },
    revokeInvite: async (which, ctx: Ctx) => {
      await revokeInvite(ctx, which);
      return {};
    },
    confirmInvite: async (which, ctx: Ctx) => showMember(await confirmInvite(deps, ctx, which)),
    acceptInvite: async (request, ctx: Ctx) => {
      const joined = await acceptInvite(deps, ctx, request);
      return joined === undefined
        ? { pending: true }
        : { team: showTeam(joined.team, joined.member.role), pending: false };
    },
  });
}

export const teamsFeature = declareFeature({
  name: 'teams',
  on: { accounts: accountsFeature, apiKeys: apiKeysFeature, regions: regionsFeature },
  settings,
  prefixes: ['team', 'inv'],
  owns: ['teams'],
  reads: ['teams', 'team_members', 'team_payers'],
  start: (system, _on, { teamsMax }) => {
    const deps = {
      ...system,
      teamsMax,
      work: () => filledOnce(system, teamWork),
      credit: () => filledOnce(system, teamCredit),
      billing: () => filledOnce(system, teamBillingPort),
    };
    return {
      teamsMax,
      services: [createTeams(deps), createAdminTeams(deps)],
      fills: [fill(teamsOfAccount, ofAccount)],
    };
  },
});
