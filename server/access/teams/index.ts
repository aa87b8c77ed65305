/** The feature keeps teams, their members and invitations. */
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  AdminTeamsService,
  InboxItemSchema,
  InviteSchema,
  SearchHitSchema,
  TeamsService,
} from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { accountsFeature, teamsOfAccount } from '../accounts/index.ts';
import { apiKeysFeature } from '../apikeys/index.ts';
import { regionOf, regionsFeature } from '../../engine/regions/index.ts';
import { switchesFeature } from '../../switches/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill, filledOnce, port } from '../../kit/feature.ts';
import { inboxSources } from '../../kit/inbox.ts';
import { overviewSources, setupSteps } from '../../kit/overview.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { shown } from '../../kit/resource/index.ts';
import { roleName } from '../../kit/scopes.ts';
import { searchSources } from '../../kit/search.ts';
import { acceptInvite } from './accept-invite.ts';
import {
  changeMemberRole,
  changeTeam,
  confirmInvite,
  createTeam,
  dropMember,
  endMemberSessions,
  invite,
  removeTeam,
  revokeInvite,
  setSharing,
  teamOf,
  type FailureSignatures,
  type TeamBilling,
  type MemberLeft,
  type TeamCredit,
  type TeamsDeps,
  type TeamWork,
} from './acts.ts';
import { createTeamsOfAccount } from './hand-over.ts';
import { createInviteMails, inviteMailJobs } from './invite-mail.ts';
import { listInvites, waitingMembers } from './invites.ts';
import {
  findTeam,
  listMembers,
  listTeams,
  lockTeam,
  pageOfTeams,
  showMember,
  showTeam,
  updateTeam,
} from './store.ts';
import { overview } from './overview.ts';
import { foundMembers, inbox, search } from './search.ts';
import { settings } from './teams.settings.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';

export type { FailureSignatures, MemberLeft, TeamBilling, TeamWork } from './acts.ts';
export { regionOfTeam, findTeam, insertMember, insertTeam, lockTeam } from './store.ts';
export { becomePayer, payerOf, payingFor, teamsPaidBy, teamsPaidWith } from './payers.ts';
export type { PaidTeam } from './payers.ts';

export const teamWork = port<TeamWork>('work of teams');
export const memberLeft = port<MemberLeft>('what ends when somebody leaves a team');
export const teamCredit = port<TeamCredit>('credit of teams');
export const teamBillingPort = port<TeamBilling>('billing of teams');
export const failureSignaturesPort = port<FailureSignatures>('failures of teams');

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
    search: async (request, ctx: Ctx) => ({
      hits: (await search(ctx, { ...deps, sources: deps.searchSources() }, request)).map((row) =>
        shown(SearchHitSchema, row),
      ),
    }),
    inbox: async ({ teamId }, ctx: Ctx) => ({
      items: (await inbox(ctx, { ...deps, sources: deps.inboxSources() }, { teamId })).map((row) =>
        shown(InboxItemSchema, row),
      ),
    }),
    overview: async ({ teamId }, ctx: Ctx) => await overview(deps, ctx, await teamOf(ctx.db, teamId)),
    billing: async ({ teamId }, ctx: Ctx) => await deps.billing().ofTeam(ctx, teamId),
    setFailureSignatureSharing: async ({ teamId, enabled }, ctx: Ctx) =>
      showTeam(await setSharing(ctx, { teamId, shares: 'shareFailures', enabled }), ctx.teams.role(teamId)),
    listFailureSignatures: async (request, ctx: Ctx) => await deps.failureSignatures()(ctx, request),
    listMembers: async ({ teamId }, ctx: Ctx) => ({
      members: (await listMembers(ctx.db, teamId)).map(showMember),
    }),
    updateMemberRole: async ({ teamId, userId, role }, ctx: Ctx) =>
      showMember(await changeMemberRole(deps, ctx, { teamId, userId, role: roleName(role) })),
    removeMember: async (which, ctx: Ctx) => {
      await dropMember(deps, ctx, which);
      return {};
    },
    endMemberSessions: async (which, ctx: Ctx) => {
      const { ended } = await endMemberSessions(deps, ctx, which);
      return { ended };
    },
    listInvites: async ({ teamId }, ctx: Ctx) => ({
      invites: (await listInvites(ctx.db, teamId, ctx.clock.now())).map((each) => shown(InviteSchema, each)),
    }),
    inviteMember: async (request, ctx: Ctx) => {
      const made = await invite(deps, ctx, request);
      const told = made.mail === null ? { token: made.token } : { mailedTo: made.email };
      return { invite: shown(InviteSchema, made), ...told };
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
  on: {
    switches: switchesFeature,
    accounts: accountsFeature,
    apiKeys: apiKeysFeature,
    regions: regionsFeature,
  },
  settings,
  prefixes: ['team', 'inv'],
  owns: ['teams'],
  reads: ['teams', 'team_members', 'team_payers'],
  start: (system, { switches: { switches } }, { teamsMax }) => {
    const deps = {
      ...system,
      gate: switches.gate,
      teamsMax,
      mails: system.mail && createInviteMails(system.clock, system.secrets),
      memberLeft: () => system.filled(memberLeft),
      work: () => filledOnce(system, teamWork),
      credit: () => filledOnce(system, teamCredit),
      billing: () => filledOnce(system, teamBillingPort),
      failureSignatures: () => filledOnce(system, failureSignaturesPort),
      searchSources: () => system.filled(searchSources),
      inboxSources: () => system.filled(inboxSources),
      overviewSources: () => system.filled(overviewSources),
      setupSteps: () => system.filled(setupSteps),
    };
    return {
      teamsMax,
      services: [createTeams(deps), createAdminTeams(deps)],
      jobs: inviteMailJobs(system),
      fills: [
        fill(teamsOfAccount, createTeamsOfAccount(deps)),
        foundMembers,
        fill(inboxSources, waitingMembers),
      ],
    };
  },
});

export function createAdminTeams({ work }: Pick<TeamsDeps, 'work'>): Handlers<Ctx> {
  return implement(AdminTeamsService, {
    list: async ({ name, ...asked }, ctx: Ctx) => {
      const page = openPage(ctx, name?.toLowerCase() ?? '', asked);
      const after = page.after && { name: String(page.after[0]), id: String(page.after[1]) };
      const rows = await pageOfTeams(ctx.db, { name, take: page.take, after });
      const { items, ...next } = closePage(page, rows, (team) => [team.name, team.id]);
      return { ...next, teams: items.map((team) => showTeam(team, ctx.teams.role(team.id))) };
    },
    setRegion: async ({ teamId, regionId }, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        await lockTeam(db, teamId);
        const before = await findTeam(db, teamId);
        if (before === undefined) throw notFound('team');
        const { id, operator } = await regionOf(db, regionId);
        await updateTeam(db, teamId, { regionId: id });
        // Waiting work of the team follows its operator.
        await work().reroute(db, { id: teamId, operator });
        if (before.regionId !== id) {
          const details = { from: before.regionId, to: id, operator };
          const act = { action: 'team.region_assigned', target: teamId, details };
          await recordAct(db, ctx, { ...act, chain: teamId });
          await recordAct(db, ctx, { ...act, chain: PLATFORM_CHAIN }); // Acts of staff stand there too.
        }
        return showTeam({ ...before, regionId: id, operator }, ctx.teams.role(teamId));
      }),
  });
}
