/** Teams of the caller, their members and invitations. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { TeamKind, TeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Ctx } from '../../platform/context.ts';
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
import { presentInvite, presentMember, presentTeam } from './present.ts';
import { listMembers, listTeams } from './store.ts';
import type { Team } from './store.ts';

export function createTeams(deps: TeamsDeps): Handlers<Ctx> {
  const { clock } = deps;
  return implement(TeamsService, {
    list: async (_request, ctx: Ctx) => {
      const teams = await listTeams(ctx.db, ctx.teams.teamIds);
      return { teams: teams.map((team) => presentTeam(team, ctx.teams.role(team.id))) };
    },
    get: async ({ teamId }, ctx: Ctx) => presentTeam(await teamOf(ctx.db, teamId), ctx.teams.role(teamId)),
    create: async (request, ctx: Ctx) =>
      presentTeam(await ctx.db.transact(async (db) => await createTeam(deps, db, ctx, request)), 'owner'),
    update: async ({ teamId, kind, ...rest }, ctx: Ctx) => {
      const { name, description, avatarUrl } = rest;
      const changes = { name, description, avatarUrl, kind: kindName(kind) };
      const team = await ctx.db.transact(async (db) => await changeTeam(db, ctx, teamId, changes));
      return presentTeam(team, ctx.teams.role(teamId));
    },
    delete: async ({ teamId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await removeTeam(deps, db, ctx, teamId));
      return {};
    },
    listMembers: async ({ teamId }, ctx: Ctx) => ({
      members: (await listMembers(ctx.db, teamId)).map(presentMember),
    }),
    updateMemberRole: async ({ teamId, userId, role }, ctx: Ctx) => {
      const change = { teamId, userId, role: roleName(role) };
      return presentMember(
        await ctx.db.transact(async (db) => await changeMemberRole(deps, db, ctx, change)),
      );
    },
    removeMember: async ({ teamId, userId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await dropMember(deps, db, ctx, { teamId, userId }));
      return {};
    },
    listInvites: async ({ teamId }, ctx: Ctx) => ({
      invites: (await listInvites(ctx.db, teamId, clock.now())).map(presentInvite),
    }),
    inviteMember: async ({ teamId, email, role }, ctx: Ctx) => {
      const given = role === undefined ? 'developer' : roleName(role);
      const address = email.trim().toLowerCase();
      const created = await ctx.db.transact(
        async (db) => await invite(db, ctx, { teamId, email: address, role: given }),
      );
      return { invite: presentInvite(created.invite), token: created.token };
    },
    revokeInvite: async ({ teamId, inviteId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await revokeInvite(db, ctx, { teamId, inviteId }));
      return {};
    },
    confirmInvite: async ({ teamId, inviteId }, ctx: Ctx) =>
      presentMember(
        await ctx.db.transact(async (db) => await confirmInvite(deps, db, ctx, { teamId, inviteId })),
      ),
    acceptInvite: async (request, ctx: Ctx) => {
      const joined = await acceptInvite(deps, ctx, request);
      return joined === undefined
        ? { pending: true }
        : { team: presentTeam(joined.team, joined.member.role), pending: false };
    },
  });
}

function kindName(kind: TeamKind | undefined): Team['kind'] | undefined {
  if (kind === undefined) return undefined;
  return kind === TeamKind.PERSONAL ? 'personal' : 'organization';
}
