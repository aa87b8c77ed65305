/**
 * The people, teams and rows that the contract matrix plays with: a team with an owner, a stranger with a
 * team of its own, and one credential of every kind. Everything is made through the public API; only what
 * time would do (an expired key) is done in SQL.
 */
import { createSvcSDK, type ApiKeysCreateParams } from '@svc/sdk';
import postgres from 'postgres';
import { PERMISSIONS } from '../../server/access/agents/kinds.ts';
import { KEY_SCOPE, TEAM_SCOPES } from '../../server/kit/scopes.ts';
import type { Platform, Sdk } from '../e2e/platform.ts';
import { waitFor } from '../setup/wait-for.ts';

type Scopes = NonNullable<ApiKeysCreateParams['scopes']>;

export type World = Awaited<ReturnType<typeof makeWorld>>;

/** A new account by invitation, whose address `staff` vouch for, with a session. */
async function newAccount(
  platform: Platform,
  { teamId, staff }: { readonly teamId: string; readonly staff: Sdk },
  { name, password }: { readonly name: string; readonly password: string },
) {
  const { token } = await platform.sdk.teams.inviteMember(teamId, `${name}@example.com`, 'developer');
  const nobody = createSvcSDK({ baseUrl: platform.url });
  await nobody.teams.acceptInvite(token ?? '', { username: name, password });
  const { token: session, userId } = await nobody.auth.login(`${name}@example.com`, password);
  await staff.adminAccounts.verifyEmail(userId);
  return { session, userId, sdk: createSvcSDK({ baseUrl: platform.url, token: session }) };
}

/**
 * Features that are off by default; a gate that is shut would answer before anything that the matrix looks
 * at.
 */
const SWITCHED_ON = ['host.incidents', 'host.compliance.residency_chain', 'host.automation.maintenance'];

export async function makeWorld(platform: Platform, databaseUrl: string) {
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => undefined });
  const { bootstrap, staff } = platform;
  for (const key of SWITCHED_ON)
    await staff.platformFeatures.setState(key, { state: 'enabled', reason: 'the matrix calls everything' });
  const nobody = createSvcSDK({ baseUrl: platform.url });
  const { token: staffSession } = await nobody.auth.login(bootstrap.staffEmail, bootstrap.staffPassword);
  const inviting = {
    teamId: (await platform.sdk.teams.create('lobby')).id,
    staff: createSvcSDK({ baseUrl: platform.url, token: staffSession }),
  };
  const owner = await newAccount(platform, inviting, { name: 'owner', password: 'a long pass phrase' });
  const stranger = await newAccount(platform, inviting, {
    name: 'stranger',
    password: 'another pass phrase',
  });
  const { userId: memberId } = await newAccount(platform, inviting, {
    name: 'member',
    password: 'a third pass phrase',
  });

  const team = await owner.sdk.teams.create('matrix');
  await stranger.sdk.teams.create('elsewhere');
  const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
  if (region === undefined) throw new Error('no customer-operated region');
  const joining = await owner.sdk.teams.inviteMember(team.id, 'member@example.com', 'viewer');
  const { token: memberSession } = await nobody.auth.login('member@example.com', 'a third pass phrase');
  await createSvcSDK({ baseUrl: platform.url, token: memberSession }).teams.acceptInvite(joining.token ?? '');

  const all = { scopes: [...TEAM_SCOPES, KEY_SCOPE] as Scopes };
  const developer = await newAccount(platform, inviting, {
    name: 'developer',
    password: 'a fourth pass phrase',
  });
  const asked = await owner.sdk.teams.inviteMember(team.id, 'developer@example.com', 'developer');
  await developer.sdk.teams.acceptInvite(asked.token ?? '');
  const developerKey = await developer.sdk.apiKeys.create('developer', all);
  const key = await owner.sdk.apiKeys.create('all', all);
  const sdk = createSvcSDK({ baseUrl: platform.url, apiKey: key.secret });
  const poor = await owner.sdk.apiKeys.create('poor', { scopes: ['ci:read'] });
  const poorCi = await owner.sdk.apiKeys.create('poor in CI', { scopes: ['team:read'] });
  const expired = await owner.sdk.apiKeys.create('expired');
  const revoked = await owner.sdk.apiKeys.create('revoked');
  await sql`update api_keys set expires_at = now() - interval '1 minute' where id = ${expired.apiKey.id}`;
  await owner.sdk.apiKeys.revoke(revoked.apiKey.id);

  const project = await sdk.projects.create({ name: 'matrix', teamId: team.id });
  const environment = await sdk.environments.create(project.id, {
    name: 'production',
    repository: 'https://git.example.com/acme/app',
  });
  const variable = await sdk.variables.set(environment.id, 'MATRIX', 'x');
  const artifact = await sdk.artifacts.declare(team.id, {
    name: 'matrix',
    kind: 'file',
    digest: `sha256:${'a'.repeat(64)}`,
  });
  const policy = await sdk.policies.create(team.id, {
    name: 'matrix',
    document: { on: ['deploy'], rules: [{ id: 'any', message: 'any', require: 'true' }] },
  });
  const release = await sdk.releases.create(project.id, { version: '1.0', artifactIds: [artifact.id] });
  const promotion = await sdk.promotions.create(environment.id, release.id);
  const { id: packageId } = await sdk.compliance.assemble(team.id, '2026-01-01', '2026-01-31');
  await waitFor('the compliance package', async () => await sdk.compliance.get(team.id, packageId), {
    holds: ({ state }) => state === 'assembled',
  });
  await owner.sdk.compliance.markLegalReviewed(team.id, packageId);
  const step = await sdk.buildSteps.add(environment.id, 'true');
  const build = await sdk.builds.create(environment.id);
  const space = await sdk.spaces.create('matrix');
  const commitSha = 'a'.repeat(40);
  const labels = { environment: environment.id, commit: commitSha };
  const run = await sdk.sandboxRuns.create(team.id, { command: ['true'], labels });
  const hook = await sdk.webhookEndpoints.create(team.id, 'https://hooks.example.com/', {
    events: ['run.finished'],
  });
  const endpointId = hook.endpoint?.id ?? '';
  const connection = await sdk.ci.createConnection(team.id, {
    provider: 'github',
    repositoryHost: 'github.com',
    repositoryPath: 'acme/matrix',
  });
  const ciRun = await sdk.ci.report({ ciConnectionId: connection.id, externalRunId: '1', status: 'running' });
  await sdk.registries.add(team.id, 'registry.example.com');
  // Not the default one, which builds use.
  const registry = await sdk.registries.add(team.id, 'mirror.example.com');
  const { invite } = await owner.sdk.teams.inviteMember(team.id, 'later@example.com');
  const { token: enrollToken } = await owner.sdk.runners.createEnrollToken(team.id);
  const { createIndependentRunner } = await import('../e2e/independent-runner.ts');
  const runnerId = await createIndependentRunner(platform.url).enroll(enrollToken, 'matrix');
  const deploy = { kind: 'container', app: 'matrix' } as const;
  const hosted = await sdk.environments.create(project.id, { name: 'hosted', deploy });
  await sql`
    insert into host_apps (environment_id, team_id, runner_id, kind, app, container_port)
    values (${hosted.id}, ${team.id}, ${runnerId}, 'container', 'matrix', 8080)`;
  await sql`update runners set host = '{"volumes": true, "databases": true, "mountRoots": [], "edge": {"driver": "nginx"}}' where id = ${runnerId}`;
  const mount = await sdk.storage.create(hosted.id, 'matrix', '/srv/matrix');
  await sdk.database.create(hosted.id, 'postgres');
  await sdk.testDatabase.create(hosted.id, 'postgres');
  const agent = await owner.sdk.agents.create(team.id, {
    name: 'matrix',
    kind: 'custom',
    permissions: [...PERMISSIONS.custom] as Scopes,
  });
  const agentKey = await owner.sdk.agents.issueKey(team.id, agent.id);
  const strangerKey = await stranger.sdk.apiKeys.create('stranger', all);
  await waitFor('the passport of the artifact with its promotion, and the end of all jobs', async () => {
    const { document } = await sdk.artifacts.passport(team.id, artifact.id);
    const [{ count } = { count: 1 }] = await sql<
      Array<{ count: number }>
    >`select count(*)::int as count from jobs`;
    return JSON.stringify(document).includes(promotion.id) && count === 0;
  });

  return {
    teamId: team.id,
    projectId: project.id,
    environmentId: environment.id,
    artifactId: artifact.id,
    policyId: policy.id,
    releaseId: release.id,
    promotionId: promotion.id,
    /** It is reviewed, so that it can be exported. */
    packageId,
    buildId: build.id,
    variableId: variable.id,
    stepId: step.id,
    /** It is deployed on the runner's machine. */
    hostedId: hosted.id,
    storageMountId: mount.id,
    spaceId: space.id,
    runId: run.id,
    /** It is the commit of the run. */
    commitSha,
    runnerId,
    registryId: registry.id,
    endpointId,
    ciConnectionId: connection.id,
    ciPipelineId: ciRun.pipelineId,
    ciRunId: ciRun.id,
    inviteId: invite.id,
    regionId: region.id,
    memberId,
    /** The session of a developer of the team. */
    developerSession: developer.session,
    /** A key of that developer with every scope. */
    developerKey: developerKey.secret,
    userId: owner.userId,
    /** A key of the owner with every scope. */
    key: key.secret,
    session: owner.session,
    staffKey: bootstrap.staffApiKey,
    staffSession,
    /** A key of the owner with no scope that matters here. */
    poorKey: poor.secret,
    /** The same for what needs a scope of CI. */
    poorCiKey: poorCi.secret,
    /** A key of an agent that holds all that agents may hold. */
    agentKey: agentKey.secret,
    expiredKey: expired.secret,
    revokedKey: revoked.secret,
    /** A key of somebody who is in another team. */
    strangerKey: strangerKey.secret,
    strangerSession: stranger.session,
    sql,
  };
}
