/**
 * The question of every RPC: may this credential, by this call, gain or give more than it holds, or outlive its end? The matrix fails for an RPC
 * without an answer here, for one that gives something and is said to give nothing, and for any call of an API key by which anybody holds
 * more than the key does.
 */
import { KEY_SCOPE, ROLES, STAFF_SCOPE, TEAM_SCOPES } from '../../server/kit/scopes.ts';
import type { World } from './world.ts';

export interface Bounded {
  /** What somebody holds after the call that nobody held before. */
  readonly gives: string;
  /** Why that is no more than the caller may do, and when it ends. */
  readonly bound: string;
  /** Requests that ask for the most, for API keys to try. Names and addresses begin with `ATTEMPT`. */
  readonly attempts?: (world: World) => ReadonlyArray<Record<string, unknown>>;
  /** Where the bound is told as a story, when keys cannot try it. */
  readonly story?: string;
}

/** What attempts make is named so, and cleared away by it. */
export const ATTEMPT = 'attempt';

const email = (role: string): string => `${ATTEMPT}-${role}@example.com`;
const unverified = 'server/access/teams/unverified.api.test.ts';
const accounts = 'server/access/accounts/accounts.api.test.ts';
const ci = 'server/connect/ci/oidc/attacks.api.test.ts';
const ofConnection =
  'reports runs of one repository and nothing else; the scope ci:manage includes it; it belongs to the connection and ends with it';

export const BOUNDED: Readonly<Record<string, Bounded>> = {
  'svc.account.v1.AccountService/ChangePassword': {
    gives: 'a password',
    bound: 'a session alone, with the current password; every other session ends',
    story: accounts,
  },
  'svc.account.v1.AccountService/ClaimEmail': {
    gives: 'a verified account',
    bound:
      'the token of a claim by staff, once, while who made it is staff; what held the address loses all it had',
    story: unverified,
  },
  'svc.account.v1.AccountService/TotpConfirm': {
    gives: 'a second factor of the own account',
    bound: 'a session alone, and a code of the secret',
    story: accounts,
  },
  'svc.account.v1.AccountService/TotpDisable': {
    gives: 'sign-in to the own account with less proof',
    bound: 'a session alone, with the password or a code',
    story: accounts,
  },
  'svc.account.v1.AccountService/TotpEnroll': {
    gives: 'a secret that counts only once it is confirmed',
    bound: 'a session alone; never in place of a confirmed one',
    story: accounts,
  },
  'svc.account.v1.AdminAccountsService/CreateClaim': {
    gives: 'a claim of an address',
    bound: 'a session of staff alone, recorded; ends after 7 days and with the staff flag of who made it',
    story: unverified,
  },
  'svc.account.v1.AdminAccountsService/VerifyEmail': {
    gives: 'what verified accounts may do',
    bound: 'a session of staff alone, recorded',
    story: unverified,
  },
  'svc.apikeys.v1.ApiKeysService/Create': {
    gives: 'an API key',
    bound: 'no more scopes, teams or time than the key that makes it, and it ends with that key',
    attempts: ({ teamId }) => [
      { name: ATTEMPT, expiresInDays: 365 },
      { name: ATTEMPT, teamId, expiresInDays: 365 },
      ...[...TEAM_SCOPES, KEY_SCOPE, STAFF_SCOPE].map((scope) => ({ name: ATTEMPT, scopes: [scope] })),
    ],
  },
  'svc.auth.v1.AuthService/Login': {
    gives: 'a session',
    bound: 'the password, and the code where one is enrolled; ends by idling and by age',
    story: accounts,
  },
  'svc.ci.v1.CiService/CreateConnection': {
    gives: 'a connection whose jobs may report',
    bound: ofConnection,
    story: ci,
  },
  'svc.ci.v1.CiService/ExchangeIdToken': {
    gives: 'a token of one CI run',
    bound:
      'what the id_token could do itself, for as long as it lives and an hour at most; ends with the connection',
    story: ci,
  },
  'svc.ci.v1.CiService/ResetOidcPin': {
    gives: 'the next pin of the connection',
    bound: ofConnection,
    story: ci,
  },
  'svc.ci.v1.CiService/RotateWebhookSecret': {
    gives: 'the secret of a webhook',
    bound: ofConnection,
    story: 'server/connect/ci/webhooks/ledger.api.test.ts',
  },
  'svc.ci.v1.CiService/SetConnectionToken': {
    gives: 'nobody anything: the token is stored sealed and never shown',
    bound: ofConnection,
    story: 'server/connect/ci/forges/token.api.test.ts',
  },
  'svc.ci.v1.CiService/SubscribeWebhook': {
    gives: 'the secret of a webhook, to the host of the repository',
    bound: ofConnection,
    story: 'server/connect/ci/webhooks/subscribe.api.test.ts',
  },
  'svc.ci.v1.CiService/UpdateConnection': {
    gives: 'other jobs the right to report',
    bound: ofConnection,
    story: ci,
  },
  'svc.dispatch.v1.DispatchService/Enroll': {
    gives: 'a runner',
    bound: 'as RunnerService/Enroll, which it is for',
    story: 'server/engine/runners/runners.test.ts',
  },
  'svc.runner.v1.RunnerService/Enroll': {
    gives: 'a runner, which is the team’s and not its issuer’s',
    bound: 'an enrollment token, once, while who issued it may issue it; runner:manage revokes it',
    story: 'server/engine/runners/runners.test.ts',
  },
  'svc.runners.v1.RunnersService/CreateEnrollToken': {
    gives: 'an enrollment token',
    bound:
      'runner:manage; ends after 15 minutes, with the key that issued it, and with the role of its person',
    attempts: ({ teamId }) => [{ teamId }],
  },
  'svc.spaces.v1.SpacesService/Create': {
    gives: 'roles in a space, which grant nothing on a team',
    bound: 'a key gives no owner or admin, and only what it may do in spaces itself',
    attempts: ({ memberId }) =>
      ROLES.map((role) => ({ name: ATTEMPT, members: [{ userId: memberId, role }] })),
  },
  'svc.spaces.v1.SpacesService/SetMember': {
    gives: 'a role in a space, which grants nothing on a team',
    bound:
      'a key gives no owner or admin, and only what it may do in spaces itself; nobody gives a role above the own one',
    attempts: ({ spaceId, memberId }) => ROLES.map((role) => ({ spaceId, userId: memberId, role })),
  },
  'svc.teams.v1.TeamsService/AcceptInvite': {
    gives: 'the membership that was offered',
    bound:
      'a session of the invited address, never a key; a new account is unverified; an unverified one waits for the team',
    story: unverified,
  },
  'svc.teams.v1.TeamsService/ConfirmInvite': {
    gives: 'the membership that was offered',
    bound: 'as InviteMember, by an admin or owner of the inviting team',
    story: unverified,
  },
  'svc.teams.v1.TeamsService/Create': {
    gives: 'a new team to the own account, and invitations to it',
    bound:
      'the team is empty and the account’s own, and a key narrowed to a team founds none; invitations as InviteMember',
    attempts: () => ROLES.map((role) => ({ name: ATTEMPT, members: [{ email: email(role), role }] })),
  },
  'svc.teams.v1.TeamsService/InviteMember': {
    gives: 'an invitation',
    bound:
      'owners and admins by sessions alone; a key only when it holds all scopes of the role; nobody above the own role; ends with its maker’s standing and key',
    attempts: ({ teamId }) => ROLES.map((role) => ({ teamId, email: email(role), role })),
  },
  'svc.teams.v1.TeamsService/UpdateMemberRole': {
    gives: 'a role',
    bound:
      'owners and admins by sessions alone; a key only when it holds all scopes of the role; nobody above the own role',
    attempts: ({ teamId, memberId }) => ROLES.map((role) => ({ teamId, userId: memberId, role })),
  },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Create': {
    gives: 'a receiver that is told of events',
    bound:
      'a key names only events that it could read itself; the endpoint is the team’s and ends when it is deleted',
    attempts: ({ teamId }) =>
      ['run.finished', 'build.finished', 'runner.degraded', 'runner.revoked'].map((event) => ({
        teamId,
        url: `https://${ATTEMPT}.example.com/`,
        events: [event],
      })),
  },
  'svc.webhookendpoints.v1.WebhookEndpointsService/RotateSecret': {
    gives: 'the secret that deliveries are signed with',
    bound: 'signs deliveries of one endpoint; the scope team:manage includes it; ends with the endpoint',
    story: 'server/kit/events/outbox.api.test.ts',
  },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Update': {
    gives: 'a receiver that is told of events',
    bound:
      'as Create, for the events that it had, has, and has waiting: they all go to the address of the moment',
    attempts: ({ teamId, endpointId }) => [
      { teamId, endpointId, url: `https://${ATTEMPT}.example.com/` },
      { teamId, endpointId, events: ['build.finished'] },
    ],
  },
};

/** RPCs that give nobody a credential, a role, or another way in, by service. Also those that end one. */
const NOTHING_BY_SERVICE: Readonly<Record<string, readonly string[]>> = {
  'svc.account.v1.AccountService': ['Plan', 'TotpStatus', 'UpdateUsername', 'Whoami'],
  'svc.account.v1.AdminAccountsService': ['Find'],
  'svc.apikeys.v1.ApiKeysService': ['List', 'Revoke'],
  'svc.audit.v1.AdminAuditService': ['Export', 'List', 'Verify'],
  'svc.audit.v1.AuditService': ['Export', 'List', 'Verify'],
  'svc.auth.v1.AuthService': ['Logout'],
  'svc.builds.v1.BuildsService': [
    'Cancel',
    'Create',
    'DeployApproval',
    'Get',
    'List',
    'Rollback',
    'StreamLogs',
    'Trace',
    'Unlock',
  ],
  'svc.buildsteps.v1.BuildStepsService': ['Add', 'Delete', 'List', 'Move'],
  'svc.ci.v1.AdminCiDeliveriesService': ['List', 'Replay'],
  'svc.ci.v1.CiService': [
    'Complete',
    'DeleteConnection',
    'DeleteConnectionToken',
    'Discover',
    'GetConnection',
    'GetDiscovery',
    'GetRun',
    'GetWebhook',
    'ListConnections',
    'ListDeliveries',
    'ListPipelines',
    'ListRunJobs',
    'ListRunsForConnection',
    'ListRunsForPipeline',
    'Report',
    'ReportJobs',
    'UpdateRun',
  ],
  'svc.dispatch.v1.DispatchService': [
    'AppendLogs',
    'Heartbeat',
    'Poll',
    'Report',
    'ResolveKey',
    'WatchFeatures',
  ],
  'svc.environments.v1.EnvironmentsService': ['Create', 'Delete', 'Get', 'List', 'Update'],
  'svc.graph.v1.GraphService': ['Commit', 'Edges', 'Node'],
  'svc.incidents.v1.IncidentsService': ['Dismiss', 'Get', 'List', 'Mitigate', 'Resolve'],
  'svc.maintenance.v1.MaintenanceService': ['ListTasks', 'TriggerRun', 'UpdateSettings'],
  'svc.notifications.v1.NotificationsService': ['List', 'MarkAllRead', 'MarkRead', 'UnreadCount'],
  'svc.platformfeatures.v1.PlatformFeaturesService': [
    'Companion',
    'Get',
    'History',
    'List',
    'Resolved',
    'SetState',
    'Watch',
  ],
  'svc.projects.v1.ProjectsService': ['Create', 'Delete', 'Get', 'List'],
  'svc.regions.v1.RegionsService': ['List'],
  'svc.registries.v1.RegistriesService': ['Add', 'List', 'Remove', 'Update'],
  'svc.residency.v1.ResidencyService': ['AttestEnvironment', 'ListForEnvironment'],
  'svc.runner.v1.RunnerService': [
    'BuildLogs',
    'BuildPoll',
    'BuildReport',
    'Heartbeat',
    'Logs',
    'Poll',
    'Report',
  ],
  'svc.runnergroups.v1.RunnerGroupsService': ['Create', 'Delete', 'Get', 'List', 'Update'],
  'svc.runners.v1.RunnersService': [
    'ClearDivergenceFlag',
    'Diagnose',
    'Get',
    'GetHealth',
    'List',
    'ListHistory',
    'Pause',
    'RequestDiagnostics',
    'Resume',
    'Revoke',
    'Update',
    'Watch',
  ],
  'svc.sandboxruns.v1.SandboxRunsService': ['Cancel', 'Create', 'Get', 'List', 'StreamLogs'],
  'svc.spaces.v1.SpacesService': [
    'AddProject',
    'Ai',
    'Delete',
    'List',
    'Overview',
    'RemoveMember',
    'RemoveProject',
    'Search',
    'Update',
  ],
  'svc.teams.v1.AdminTeamsService': ['SetRegion'],
  'svc.teamshares.v1.TeamSharesService': ['Get', 'Set'],
  'svc.teams.v1.TeamsService': [
    'Delete',
    'Get',
    'List',
    'ListInvites',
    'ListMembers',
    'RemoveMember',
    'RevokeInvite',
    'Update',
  ],
  'svc.timeline.v1.TimelineService': ['Get', 'Watch'],
  'svc.usage.v1.UsageService': ['Get'],
  'svc.variables.v1.VariablesService': ['Delete', 'List', 'Set', 'SetMany', 'Update'],
  'svc.verifieddomains.v1.VerifiedDomainsService': ['Add', 'Get', 'List', 'Remove', 'Verify'],
  'svc.webhookendpoints.v1.WebhookEndpointsService': ['Delete', 'Get', 'List', 'ListDeliveries', 'Test'],
  'svc.webhooks.v1.WebhooksService': ['Delete', 'Deliveries', 'List'],
};

export const NOTHING: readonly string[] = Object.entries(NOTHING_BY_SERVICE).flatMap(([service, methods]) =>
  methods.map((method) => `${service}/${method}`),
);
