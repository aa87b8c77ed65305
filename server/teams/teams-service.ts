/** Teams of the caller, their members and invitations. */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { TeamKind, TeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { CreateRequest } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Limits } from '../config.ts';
import type { Caller, Ctx, Role } from '../platform/context.ts';
import type { Database } from '../platform/db/index.ts';
import { newId } from '../platform/ids.ts';
import { notFound } from '../platform/not-found.ts';
import { roleName } from '../platform/scopes.ts';
import { defaultRegion } from '../regions/index.ts';
import { acceptInvite } from './accept-invite.ts';
import type { AcceptDeps } from './accept-invite.ts';
import { createInvite, deleteInvite, listInvites } from './invites.ts';
import { assertMayGive, changeRole, removeMember } from './members.ts';
import type { Actor } from './members.ts';
import { presentInvite, presentMember, presentTeam } from './present.ts';
import {
  countOwnedTeams,
  deleteTeam,
  findMemberByEmail,
  findTeam,
  insertMember,
  insertTeam,
  listMembers,
  listTeams,
  lockTeam,
  updateTeam,
} from './store.ts';
import type { Team } from './store.ts';

/** What dispatch does for teams; server/work implements it. Both run in the transaction of the change. */
export interface TeamWork {
  /** Queued work of the team follows its region's operator; offered and running work stays. */
  reroute(
    db: Database,
    team: { readonly id: string; readonly operator: 'service' | 'customer' },
  ): Promise<void>;
  /** Before a team goes: its runners are revoked and its open work is cancelled. */
  close(db: Database, teamId: string): Promise<void>;
}

export interface TeamsDeps extends AcceptDeps {
  readonly limits: Limits;
  readonly work: TeamWork;
}

export function createTeams(deps: TeamsDeps): Handlers<Ctx> {
  const { clock, changes } = deps;
  return implement(TeamsService, {
    list: async (_request, ctx: Ctx) => {
      const teams = await listTeams(ctx.db, ctx.teams.teamIds);
      return { teams: teams.map((team) => presentTeam(team, ctx.teams.role(team.id))) };
    },
    get: async ({ teamId }, ctx: Ctx) => presentTeam(await teamOf(ctx.db, teamId), ctx.teams.role(teamId)),
    create: async (request, ctx: Ctx) =>
      presentTeam(await ctx.db.transact(async (db) => await create(deps, db, ctx.caller, request)), 'owner'),
    update: async ({ teamId, name, description, avatarUrl, kind }, ctx: Ctx) => {
      const changed =
        kind === undefined ? undefined : kind === TeamKind.PERSONAL ? 'personal' : 'organization';
      await updateTeam(ctx.db, teamId, { name, description, avatarUrl, kind: changed });
      return presentTeam(await teamOf(ctx.db, teamId), ctx.teams.role(teamId));
    },
    delete: async ({ teamId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await remove(deps, db, teamId));
      return {};
    },
    listMembers: async ({ teamId }, ctx: Ctx) => ({
      members: (await listMembers(ctx.db, teamId)).map(presentMember),
    }),
    updateMemberRole: async ({ teamId, userId, role }, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        const member = await changeRole(db, teamId, ctx.caller.userId, userId, roleName(role));
        await changes.announce(db, { userId });
        return presentMember(member);
      }),
    removeMember: async ({ teamId, userId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => {
        await removeMember(db, teamId, ctx.caller.userId, userId);
        await changes.announce(db, { userId });
      });
      return {};
    },
    listInvites: async ({ teamId }, ctx: Ctx) => ({
      invites: (await listInvites(ctx.db, teamId, clock.now())).map(presentInvite),
    }),
    inviteMember: async ({ teamId, email, role }, ctx: Ctx) => {
      const given = role === undefined ? 'developer' : roleName(role);
      assertMayGive(actorOf(ctx, teamId), given);
      const address = email.trim().toLowerCase();
      if ((await findMemberByEmail(ctx.db, teamId, address)) !== undefined) {
        throw apiError(
          'already_member',
          'the person is a member of the team already; change the role instead',
        );
      }
      const created = await createInvite({ db: ctx.db, clock }, { teamId, email: address, role: given });
      return { invite: presentInvite(created.invite), token: created.token };
    },
    revokeInvite: async ({ teamId, inviteId }, ctx: Ctx) => {
      if (!(await deleteInvite(ctx.db, teamId, inviteId))) throw notFound('invitation');
      return {};
    },
    acceptInvite: async (request, ctx: Ctx) => {
      const { team, member } = await acceptInvite(deps, ctx.db, ctx.caller, request);
      return { team: presentTeam(team, member.role) };
    },
  });
}

function actorOf(ctx: Ctx, teamId: string): Actor {
  const role: Role | undefined = ctx.teams.role(teamId);
  if (role === undefined) throw notFound('team');
  return { userId: ctx.caller.userId, role };
}

async function teamOf(db: Database, teamId: string): Promise<Team> {
  const team = await findTeam(db, teamId);
  if (team === undefined) throw notFound('team');
  return team;
}

async function create(deps: TeamsDeps, db: Database, caller: Caller, request: CreateRequest): Promise<Team> {
  if (caller.onlyTeamId !== undefined) {
    throw apiError(
      'scope_missing',
      'the API key is narrowed to one team and cannot create another; use one that is not',
    );
  }
  const owned = await countOwnedTeams(db, caller.userId);
  if (owned >= deps.limits.teamsMax) {
    throw apiError(
      'limit_reached',
      `the account owns ${owned} teams, at most ${deps.limits.teamsMax} are allowed`,
      {
        details: { limit: deps.limits.teamsMax, current: owned },
      },
    );
  }
  const now = deps.clock.now();
  const region = await defaultRegion(db);
  const id = newId('team', now.getTime());
  await insertTeam(db, {
    id,
    name: request.name,
    kind: 'organization',
    regionId: region.id,
    servicePool: false,
    createdAt: now,
  });
  await insertMember(db, id, { userId: caller.userId, role: 'owner', joinedAt: now });
  for (const { email, role } of request.members) {
    await createInvite(
      { db, clock: deps.clock },
      {
        teamId: id,
        email: email.trim().toLowerCase(),
        role: role === undefined ? 'developer' : roleName(role),
      },
    );
  }
  await deps.changes.announce(db, { userId: caller.userId });
  return await teamOf(db, id);
}

async function remove(deps: TeamsDeps, db: Database, teamId: string): Promise<void> {
  if (!(await lockTeam(db, teamId))) throw notFound('team');
  const team = await teamOf(db, teamId);
  if (team.servicePool)
    throw apiError(
      'team_protected',
      'this team holds the runners of the service itself and cannot be deleted',
    );
  await deps.work.close(db, teamId);
  await deps.changes.announce(db, { teamId });
  await deleteTeam(db, teamId);
}
