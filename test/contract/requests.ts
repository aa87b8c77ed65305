/** One valid request for every public RPC, by RPC id. An RPC without one fails the matrix. */
import type { World } from './world.ts';

export interface ValidRequest {
  /** Fields of the message by their JSON names; the matrix puts them into the path, the query and the body. */
  readonly fields: (world: World) => Record<string, unknown>;
  /** Status for the right caller; default: the RPC's success status. Some calls are right and still refused, with this code. */
  readonly status?: number;
  /** Which credential is the right one; default: by the RPC's declaration. */
  readonly as?: 'session' | 'staff_session' | 'nobody';
}

const team = ({ teamId }: World) => ({ teamId });
const runner = ({ teamId, runnerId }: World) => ({ teamId, runnerId });
const environment = ({ environmentId }: World) => ({ environmentId });
const build = ({ environmentId, buildId }: World) => ({ environmentId, buildId });
const variable = ({ environmentId, variableId }: World) => ({ environmentId, variableId });
const step = ({ environmentId, stepId }: World) => ({ environmentId, stepId });
const space = ({ spaceId }: World) => ({ spaceId });
const ref = ({ environmentId }: World) => ({ ref: `graph:environment:${environmentId}` });
const incident = ({ incidentId }: World) => ({ incidentId });
const repository = ({ teamId }: World) => ({ teamId, repositoryId: 'github.com/acme/app' });
const endpoint = ({ teamId, endpointId }: World) => ({ teamId, endpointId });
const ciConnection = ({ ciConnectionId }: World) => ({ connectionId: ciConnectionId });
const ciRun = ({ ciRunId }: World) => ({ runId: ciRunId });
const nothing = () => ({});

export const REQUESTS: Readonly<Record<string, ValidRequest>> = {
  'svc.account.v1.AdminAccountsService/CreateClaim': {
    fields: () => ({ email: 'claimed@example.com' }),
    as: 'staff_session',
  },
  'svc.account.v1.AdminAccountsService/Find': { fields: () => ({ email: 'owner@example.com' }) },
  'svc.account.v1.AdminAccountsService/VerifyEmail': {
    fields: ({ memberId }) => ({ userId: memberId }),
    as: 'staff_session',
  },
  'svc.account.v1.AccountService/ClaimEmail': {
    fields: () => ({ token: 'claim_unknown', username: 'claimant', password: 'a long pass phrase' }),
    status: 404,
    as: 'nobody',
  },
  'svc.account.v1.AccountService/ChangePassword': {
    fields: () => ({ currentPassword: 'not the password', newPassword: 'a new long pass phrase' }),
    status: 401,
  },
  'svc.account.v1.AccountService/Plan': { fields: nothing },
  'svc.account.v1.AccountService/TotpConfirm': { fields: () => ({ code: '000000' }), status: 409 },
  'svc.account.v1.AccountService/TotpDisable': {
    fields: () => ({ currentPassword: 'a long pass phrase' }),
  },
  'svc.account.v1.AccountService/TotpEnroll': { fields: nothing },
  'svc.account.v1.AccountService/TotpStatus': { fields: nothing },
  'svc.account.v1.AccountService/UpdateUsername': { fields: () => ({ username: 'owner-renamed' }) },
  'svc.account.v1.AccountService/Whoami': { fields: nothing },
  'svc.apikeys.v1.ApiKeysService/Create': {
    fields: () => ({ name: 'made by the matrix', scopes: ['ci:read'] }),
  },
  'svc.apikeys.v1.ApiKeysService/List': { fields: nothing },
  'svc.apikeys.v1.ApiKeysService/Revoke': { fields: () => ({ apiKeyId: 'key_missing' }), status: 404 },
  'svc.audit.v1.AdminAuditService/Export': { fields: nothing },
  'svc.audit.v1.AdminAuditService/List': { fields: nothing },
  'svc.audit.v1.AdminAuditService/Verify': { fields: nothing },
  'svc.audit.v1.AuditService/Export': { fields: team },
  'svc.audit.v1.AuditService/List': { fields: team },
  'svc.audit.v1.AuditService/Verify': { fields: team },
  'svc.auth.v1.AuthService/Login': {
    fields: () => ({ email: 'owner@example.com', password: 'wrong' }),
    status: 401,
    as: 'nobody',
  },
  'svc.auth.v1.AuthService/Logout': { fields: nothing },
  'svc.builds.v1.BuildsService/Cancel': { fields: build },
  'svc.builds.v1.BuildsService/Create': { fields: environment },
  'svc.builds.v1.BuildsService/DeployApproval': {
    fields: (world) => ({ ...build(world), decision: 'approve' }),
    status: 409,
  },
  'svc.builds.v1.BuildsService/Get': { fields: build },
  'svc.builds.v1.BuildsService/List': { fields: environment },
  'svc.builds.v1.BuildsService/Rollback': { fields: build, status: 409 },
  'svc.builds.v1.BuildsService/StreamLogs': { fields: (world) => ({ ...build(world), follow: false }) },
  'svc.builds.v1.BuildsService/Trace': { fields: build },
  'svc.builds.v1.BuildsService/Unlock': { fields: (world) => ({ ...environment(world), force: true }) },
  'svc.buildsteps.v1.BuildStepsService/Add': {
    fields: (world) => ({ ...environment(world), command: 'true' }),
  },
  'svc.buildsteps.v1.BuildStepsService/Delete': { fields: step },
  'svc.buildsteps.v1.BuildStepsService/List': { fields: environment },
  'svc.buildsteps.v1.BuildStepsService/Move': { fields: (world) => ({ ...step(world), direction: 'up' }) },
  'svc.ci.v1.CiService/Complete': { fields: (world) => ({ ...ciRun(world), status: 'success' }) },
  'svc.ci.v1.AdminCiDeliveriesService/List': { fields: () => ({}) },
  'svc.ci.v1.AdminCiDeliveriesService/Replay': { fields: () => ({ deliveryId: 'ciw_0' }), status: 404 },
  'svc.ci.v1.CiService/CreateConnection': {
    fields: (world) => ({
      ...team(world),
      provider: 'gitlab',
      repositoryHost: 'gitlab.com',
      repositoryPath: 'acme/made-by-matrix',
    }),
  },
  'svc.ci.v1.CiService/DeleteConnection': { fields: ciConnection },
  'svc.ci.v1.CiService/DeleteConnectionToken': { fields: ciConnection },
  'svc.ci.v1.CiService/Discover': { fields: ciConnection },
  'svc.ci.v1.CiService/ExchangeIdToken': {
    fields: ({ ciConnectionId }) => ({ ciConnectionId, idToken: 'no.id.token' }),
    status: 401,
    as: 'nobody',
  },
  'svc.ci.v1.CiService/GetConnection': { fields: ciConnection },
  'svc.ci.v1.CiService/GetDiscovery': { fields: ciConnection },
  'svc.ci.v1.CiService/GetRun': { fields: ciRun },
  'svc.ci.v1.CiService/GetWebhook': { fields: ciConnection },
  'svc.ci.v1.CiService/ListConnections': { fields: team },
  'svc.ci.v1.CiService/ListDeliveries': { fields: ciConnection },
  'svc.ci.v1.CiService/ListPipelines': { fields: ciConnection },
  'svc.ci.v1.CiService/ListRunJobs': { fields: ciRun },
  'svc.ci.v1.CiService/ListRunsForPipeline': {
    fields: ({ ciPipelineId }) => ({ pipelineId: ciPipelineId }),
  },
  'svc.ci.v1.CiService/Report': {
    fields: ({ ciConnectionId }) => ({ ciConnectionId, externalRunId: '2', status: 'running' }),
  },
  'svc.ci.v1.CiService/ReportJobs': {
    fields: (world) => ({ ...ciRun(world), jobs: [{ name: 'test', status: 'running' }] }),
  },
  'svc.ci.v1.CiService/ResetOidcPin': { fields: ciConnection },
  'svc.ci.v1.CiService/RotateWebhookSecret': { fields: ciConnection },
  // A connection without a token.
  'svc.ci.v1.CiService/SetConnectionToken': {
    fields: (world) => ({
      ...ciConnection(world),
      token: 'a-token',
      forge: 'github',
      apiUrl: 'https://forge.example.com/api',
    }),
  },
  'svc.ci.v1.CiService/SubscribeWebhook': { fields: ciConnection, status: 409 },
  'svc.ci.v1.CiService/UpdateConnection': {
    fields: (world) => ({ ...ciConnection(world), defaultBranch: 'next' }),
  },
  'svc.ci.v1.CiService/UpdateRun': { fields: (world) => ({ ...ciRun(world), durationMs: 1 }) },
  'svc.environments.v1.EnvironmentsService/Create': {
    fields: ({ projectId }) => ({ projectId, name: 'made-by-matrix' }),
  },
  'svc.environments.v1.EnvironmentsService/Delete': { fields: environment },
  'svc.environments.v1.EnvironmentsService/Get': { fields: environment },
  'svc.environments.v1.EnvironmentsService/List': { fields: ({ projectId }) => ({ projectId }) },
  'svc.environments.v1.EnvironmentsService/Update': {
    fields: (world) => ({ ...environment(world), branch: 'next' }),
  },
  'svc.graph.v1.GraphService/Commit': { fields: ({ commitSha }) => ({ sha: commitSha }) },
  'svc.graph.v1.GraphService/Edges': { fields: (world) => ({ ...ref(world), depth: 3 }) },
  'svc.graph.v1.GraphService/Node': { fields: ref },
  'svc.incidents.v1.IncidentsService/Dismiss': { fields: incident, status: 409 },
  'svc.incidents.v1.IncidentsService/Get': { fields: incident },
  'svc.incidents.v1.IncidentsService/List': { fields: environment },
  'svc.incidents.v1.IncidentsService/Mitigate': { fields: incident },
  'svc.incidents.v1.IncidentsService/Resolve': { fields: incident },
  'svc.maintenance.v1.MaintenanceService/ListTasks': { fields: repository },
  'svc.maintenance.v1.MaintenanceService/TriggerRun': {
    fields: (world) => ({
      ...repository(world),
      category: 'dependencies',
      proposal: 'keep them fresh',
      estimatedCostCents: 0,
    }),
  },
  'svc.maintenance.v1.MaintenanceService/UpdateSettings': {
    fields: (world) => ({ ...repository(world), category: 'dependencies', enabled: true }),
  },
  'svc.notifications.v1.NotificationsService/List': { fields: nothing },
  'svc.notifications.v1.NotificationsService/MarkAllRead': { fields: nothing },
  'svc.notifications.v1.NotificationsService/MarkRead': {
    fields: () => ({ notificationId: 'ntf_missing' }),
    status: 404,
  },
  'svc.notifications.v1.NotificationsService/UnreadCount': { fields: nothing },
  'svc.platformfeatures.v1.PlatformFeaturesService/Companion': { fields: nothing },
  'svc.platformfeatures.v1.PlatformFeaturesService/Get': { fields: () => ({ key: 'host.ci' }) },
  'svc.platformfeatures.v1.PlatformFeaturesService/History': { fields: () => ({ key: 'host.ci' }) },
  'svc.platformfeatures.v1.PlatformFeaturesService/List': { fields: nothing },
  'svc.platformfeatures.v1.PlatformFeaturesService/Resolved': { fields: nothing },
  'svc.platformfeatures.v1.PlatformFeaturesService/SetState': {
    // Off at the first start; a switch that other rows of the matrix do not stand behind.
    fields: () => ({ key: 'host.automation.maintenance', state: 'enabled', reason: 'seen by the matrix' }),
  },
  'svc.platformfeatures.v1.PlatformFeaturesService/Watch': { fields: nothing },
  'svc.projects.v1.ProjectsService/Create': {
    fields: ({ teamId }) => ({ name: 'made by the matrix', teamId }),
  },
  'svc.projects.v1.ProjectsService/Delete': { fields: ({ projectId }) => ({ projectId }) },
  'svc.projects.v1.ProjectsService/Get': { fields: ({ projectId }) => ({ idOrSlug: projectId }) },
  'svc.projects.v1.ProjectsService/List': { fields: nothing },
  'svc.regions.v1.RegionsService/List': { fields: nothing },
  'svc.residency.v1.ResidencyService/AttestEnvironment': { fields: environment },
  'svc.residency.v1.ResidencyService/ListForEnvironment': { fields: environment },
  'svc.registries.v1.RegistriesService/Add': {
    fields: (world) => ({ ...team(world), host: 'registry.example.com', namespace: 'matrix' }),
  },
  'svc.registries.v1.RegistriesService/List': { fields: team },
  'svc.registries.v1.RegistriesService/Update': {
    fields: ({ teamId, registryId }) => ({ teamId, registryId, default: true }),
  },
  'svc.registries.v1.RegistriesService/Remove': {
    fields: ({ teamId, registryId }) => ({ teamId, registryId }),
  },
  'svc.runners.v1.RunnersService/ClearDivergenceFlag': { fields: runner },
  'svc.runners.v1.RunnersService/CreateEnrollToken': { fields: team },
  'svc.runners.v1.RunnersService/Diagnose': { fields: team },
  'svc.runners.v1.RunnersService/Get': { fields: runner },
  'svc.runners.v1.RunnersService/GetHealth': { fields: team },
  'svc.runners.v1.RunnersService/List': { fields: team },
  'svc.runners.v1.RunnersService/ListHistory': { fields: runner },
  'svc.runners.v1.RunnersService/Pause': { fields: runner },
  'svc.runners.v1.RunnersService/RequestDiagnostics': { fields: runner },
  'svc.runners.v1.RunnersService/Resume': { fields: runner },
  'svc.runners.v1.RunnersService/Revoke': { fields: runner },
  'svc.runners.v1.RunnersService/Watch': { fields: team },
  'svc.sandboxruns.v1.SandboxRunsService/Cancel': { fields: ({ runId }) => ({ runId }) },
  'svc.sandboxruns.v1.SandboxRunsService/Create': { fields: ({ teamId }) => ({ teamId, command: ['true'] }) },
  'svc.sandboxruns.v1.SandboxRunsService/Get': { fields: ({ runId }) => ({ runId }) },
  'svc.sandboxruns.v1.SandboxRunsService/List': { fields: team },
  'svc.sandboxruns.v1.SandboxRunsService/StreamLogs': { fields: ({ runId }) => ({ runId, follow: false }) },
  'svc.spaces.v1.SpacesService/AddProject': {
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Ai': {
    fields: (world) => ({ ...space(world), messages: [{ role: 'user', content: 'What is here?' }] }),
    status: 503,
  },
  'svc.spaces.v1.SpacesService/Create': { fields: () => ({ name: 'made by the matrix' }) },
  'svc.spaces.v1.SpacesService/Delete': { fields: space },
  'svc.spaces.v1.SpacesService/List': { fields: nothing },
  'svc.spaces.v1.SpacesService/Overview': { fields: space },
  'svc.spaces.v1.SpacesService/RemoveMember': {
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId }),
  },
  'svc.spaces.v1.SpacesService/RemoveProject': {
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Search': { fields: (world) => ({ ...space(world), query: 'matrix' }) },
  'svc.spaces.v1.SpacesService/SetMember': {
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId, role: 'viewer' }),
  },
  'svc.spaces.v1.SpacesService/Update': {
    fields: (world) => ({ ...space(world), description: 'seen by the matrix' }),
  },
  'svc.teams.v1.AdminTeamsService/SetRegion': { fields: ({ teamId, regionId }) => ({ teamId, regionId }) },
  'svc.teams.v1.TeamsService/AcceptInvite': {
    fields: () => ({ token: 'inv_unknown' }),
    status: 404,
    as: 'session',
  },
  'svc.teams.v1.TeamsService/ConfirmInvite': {
    fields: ({ teamId, inviteId }) => ({ teamId, inviteId }),
    status: 409, // nobody waits
  },
  'svc.teams.v1.TeamsService/Create': { fields: () => ({ name: 'made by the matrix' }) },
  'svc.teams.v1.TeamsService/Delete': { fields: team },
  'svc.teams.v1.TeamsService/Get': { fields: team },
  'svc.teams.v1.TeamsService/InviteMember': {
    fields: ({ teamId }) => ({ teamId, email: 'guest@example.com' }),
  },
  'svc.teams.v1.TeamsService/List': { fields: nothing },
  'svc.teams.v1.TeamsService/ListInvites': { fields: team },
  'svc.teams.v1.TeamsService/ListMembers': { fields: team },
  'svc.teams.v1.TeamsService/RemoveMember': {
    fields: ({ teamId, memberId }) => ({ teamId, userId: memberId }),
  },
  'svc.teams.v1.TeamsService/RevokeInvite': { fields: ({ teamId, inviteId }) => ({ teamId, inviteId }) },
  'svc.teams.v1.TeamsService/Update': {
    fields: (world) => ({ ...team(world), description: 'seen by the matrix' }),
  },
  'svc.teams.v1.TeamsService/UpdateMemberRole': {
    fields: ({ teamId, memberId }) => ({ teamId, userId: memberId, role: 'developer' }),
  },
  'svc.usage.v1.UsageService/Get': { fields: team },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Create': {
    fields: ({ teamId }) => ({ teamId, url: 'https://hooks.example.com/svc', events: ['run.finished'] }),
  },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Delete': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Get': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/List': { fields: team },
  'svc.webhookendpoints.v1.WebhookEndpointsService/ListDeliveries': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/RotateSecret': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Test': { fields: endpoint },
  'svc.webhookendpoints.v1.WebhookEndpointsService/Update': {
    fields: (world) => ({ ...endpoint(world), description: 'seen by the matrix' }),
  },
  'svc.variables.v1.VariablesService/Delete': { fields: variable },
  'svc.variables.v1.VariablesService/List': { fields: environment },
  'svc.variables.v1.VariablesService/Set': {
    fields: (world) => ({ ...environment(world), name: 'BY_MATRIX', value: 'x', secret: true }),
  },
  'svc.variables.v1.VariablesService/SetMany': {
    fields: (world) => ({ ...environment(world), variables: { BY_MATRIX: 'y' } }),
  },
  'svc.variables.v1.VariablesService/Update': {
    fields: (world) => ({ ...variable(world), name: 'OF_MATRIX', value: 'z' }),
  },
  'svc.webhooks.v1.WebhooksService/Delete': {
    fields: (world) => ({ ...environment(world), hookId: 'cih_0' }),
    status: 404,
  },
  'svc.webhooks.v1.WebhooksService/Deliveries': { fields: environment },
  'svc.webhooks.v1.WebhooksService/List': { fields: environment },
  'svc.timeline.v1.TimelineService/Get': { fields: environment },
  'svc.timeline.v1.TimelineService/Watch': { fields: environment },
};

/** The order in which the right callers act: what deletes comes last, deepest first. */
export const LAST: readonly string[] = [
  'svc.buildsteps.v1.BuildStepsService/Delete',
  'svc.variables.v1.VariablesService/Delete',
  'svc.registries.v1.RegistriesService/Remove',
  'svc.runners.v1.RunnersService/Revoke',
  'svc.webhookendpoints.v1.WebhookEndpointsService/Delete',
  'svc.spaces.v1.SpacesService/RemoveProject',
  'svc.spaces.v1.SpacesService/RemoveMember',
  'svc.spaces.v1.SpacesService/Delete',
  'svc.incidents.v1.IncidentsService/Dismiss', // After its resolution: too late.
  'svc.ci.v1.CiService/DeleteConnection',
  'svc.environments.v1.EnvironmentsService/Delete',
  'svc.projects.v1.ProjectsService/Delete',
  'svc.teams.v1.TeamsService/RevokeInvite',
  'svc.teams.v1.TeamsService/RemoveMember',
  'svc.teams.v1.TeamsService/Delete',
  'svc.auth.v1.AuthService/Logout',
];
