/** Teams of the caller, their members and invitations. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  InviteSchema,
  MemberSchema,
  TeamSchema,
  TeamsService,
  UpdateRequestSchema,
} from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Team as TeamMessage } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Ctx, Role } from '../../platform/context.ts';
import { given, shown } from '../../platform/resource/index.ts';
import { roleName } from '../../platform/scopes.ts';
import { acceptInvite } from './accept-invite.ts';
import {
  changeMemberRole,
  changeTeam,
  createTeam,
  dropMember,
  invite,
  removeTeam,
  revokeInvite,
  teamOf,
} from './acts.ts';
import type { TeamsDeps } from './acts.ts';
import { confirmInvite } from './confirm-invite.ts';
import { listInvites } from './invites.ts';
import { listMembers, listTeams } from './store.ts';
import type { Team, TeamChanges } from './store.ts';

export function createTeams(deps: TeamsDeps): Handlers<Ctx> {
  const { clock } = deps;
  return implement(TeamsService, {
    list: async (_request, ctx: Ctx) => {
      const teams = await listTeams(ctx.db, ctx.teams.teamIds);
      return { teams: teams.map((team) => showTeam(team, ctx.teams.role(team.id))) };
    },
    get: async ({ teamId }, ctx: Ctx) => showTeam(await teamOf(ctx.db, teamId), ctx.teams.role(teamId)),
    create: async (request, ctx: Ctx) =>
      showTeam(await ctx.db.transact(async (db) => await createTeam(deps, db, ctx, request)), 'owner'),
    update: async (request, ctx: Ctx) => {
      const { teamId } = request;
      const changes = given(UpdateRequestSchema, request) as TeamChanges;
      const team = await ctx.db.transact(async (db) => await changeTeam(db, ctx, teamId, changes));
      return showTeam(team, ctx.teams.role(teamId));
    },
    delete: async ({ teamId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await removeTeam(deps, db, ctx, teamId));
      return {};
    },
    listMembers: async ({ teamId }, ctx: Ctx) => ({
      members: (await listMembers(ctx.db, teamId)).map((member) => shown(MemberSchema, member)),
    }),
    updateMemberRole: async ({ teamId, userId, role }, ctx: Ctx) => {
      const change = { teamId, userId, role: roleName(role) };
      return shown(
        MemberSchema,
        await ctx.db.transact(async (db) => await changeMemberRole(deps, db, ctx, change)),
      );
    },
    removeMember: async ({ teamId, userId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await dropMember(deps, db, ctx, { teamId, userId }));
      return {};
    },
    listInvites: async ({ teamId }, ctx: Ctx) => ({
      invites: (await listInvites(ctx.db, teamId, clock.now())).map((each) => shown(InviteSchema, each)),
    }),
    inviteMember: async ({ teamId, email, role }, ctx: Ctx) => {
      const wanted = role === undefined ? 'developer' : roleName(role);
      const address = email.trim().toLowerCase();
      const created = await ctx.db.transact(
        async (db) => await invite(db, ctx, { teamId, email: address, role: wanted }),
      );
      return { invite: shown(InviteSchema, created.invite), token: created.token };
    },
    revokeInvite: async ({ teamId, inviteId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await revokeInvite(db, ctx, { teamId, inviteId }));
      return {};
    },
    confirmInvite: async ({ teamId, inviteId }, ctx: Ctx) =>
      shown(
        MemberSchema,
        await ctx.db.transact(async (db) => await confirmInvite(deps, db, ctx, { teamId, inviteId })),
      ),
    acceptInvite: async (request, ctx: Ctx) => {
      const joined = await acceptInvite(deps, ctx, request);
      return joined === undefined
        ? { pending: true }
        : { team: showTeam(joined.team, joined.member.role), pending: false };
    },
  });
}

/** As somebody with this role in it sees it. */
export function showTeam(team: Team, role: Role | undefined): TeamMessage {
  return shown(TeamSchema, { ...team, role });
}
