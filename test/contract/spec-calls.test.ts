/**
 * Every operation of SPEC 4.6 that is built, called exactly as it stands there: positional arguments, objects
 * and options in their places, and all features as they are after the first start. What is asked of an answer
 * is that there is one.
 */
import { randomBytes } from 'node:crypto';
import type { SvcSDK } from '@svc/sdk';
import { FACTS } from '../e2e/independent-runner.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { has } from '../setup/needs.ts';
import { refused } from '../setup/refused.ts';
import { world, type Member, type World } from '../setup/world.ts';
import { totpCode } from '../../server/access/accounts/totp-code.ts';

/** The words of SPEC, resource by resource. */
const SPEC: Readonly<Record<string, string>> = {
  projects: 'list listPage get create delete deployTemplate',
  environments: 'get create update delete nginxLogs deployAndWait',
  builds: 'list get create cancel rollback trace unlock deployApproval streamLogs',
  variables: 'list set update delete setMany',
  domains: 'list create delete enableSsl',
  storage: 'list create delete',
  database: 'get create delete',
  testDatabase: 'get create delete',
  buildSteps: 'list add delete move',
  webhooks: 'list delete deliveries',
  templates: 'list get create createFromEnvironment update delete resync replaceServices',
  teams:
    'list create update delete billing inviteMember acceptInvite revokeInvite updateMemberRole removeMember setFailureSignatureSharing listFailureSignatures setDebtBenchmarkSharing',
  account: 'whoami plan updateUsername totpStatus totpEnroll totpConfirm totpDisable changePassword',
  apiKeys: 'list create revoke',
  billing: 'checkout portal',
  plans: 'list',
  repositories: 'list',
  releases: 'list get create',
  artifacts: 'list get impact lineage attestations passport attestEvaluation',
  promotions: 'list create approve',
  policies: 'list get create updateDocument enable disable simulate decisions',
  ci: 'listConnections createConnection getConnection updateConnection deleteConnection listPipelines listRunsForPipeline getRun listRunJobs report reportJobs complete reportAndWait',
  timeline: 'get',
  registryNamespaces: 'list create requestVerification',
  registryPackages: 'get stats dailyPulls',
  workflows: 'list get create publishVersion search listInstallations install uninstall run',
  mcpHosting: 'list create createVersion publish start stop setCredential invoke',
  apiSpecs: 'list create',
  generations: 'list get create',
  mcpCatalog: 'list',
  spaces: 'list create update search overview ai',
  graph: 'node edges commit',
  costs: 'summary anomalies exportJson exportCsv listCreditLedger creditBalance createCreditCheckout',
  budgets: 'list set delete',
  alerts: 'list create delete events',
  compliance: 'list assemble get markLegalReviewed export',
  residency: 'listForEnvironment attestEnvironment listForArtifact attestArtifact',
  incidents: 'list get mitigate resolve dismiss',
  recommendations: 'list inbox apply dismiss revert',
  maintenance: 'listTasks updateSettings triggerRun',
  agents: 'list create setEnabled issueKey issueApprovalToken runs',
  sso: 'get upsert setEnabled rotateScimToken revokeScimToken',
  audit: 'list verify export',
  notifications: 'list markRead markAllRead',
  platformFeatures: 'resolved list history setState',
};

type Methods = Readonly<Record<string, ((...args: never[]) => unknown) | undefined>>;
const called = new Set<string>();

/** Notes which methods are called. */
function noting(sdk: SvcSDK): SvcSDK {
  const resources = Object.entries(sdk).map(([name, resource]: [string, unknown]) => {
    if (typeof resource !== 'object' || resource === null) return [name, resource];
    const get = (target: object, method: string) => {
      const found = (target as Methods)[method];
      if (typeof found !== 'function') return found;
      called.add(`${name}.${method}`);
      return found.bind(target);
    };
    return [name, new Proxy(resource, { get: (target, method) => get(target, String(method)) })];
  });
  return Object.fromEntries(resources) as SvcSDK;
}

const NONE = '0'.repeat(26);
const DIGEST = `sha256:${randomBytes(32).toString('hex')}`;
const returnTo = { successUrl: 'https://app.example/good', cancelUrl: 'https://app.example/bad' };

describe.runIf(await has('postgres'))('the operations of SPEC 4.6', () => {
  let w: World;
  let sdk: SvcSDK;
  let teamId: string;
  let projectId: string;
  let environmentId: string;
  let runner: ScriptedRunner;

  beforeAll(async () => {
    w = await world();
    ({ teamId, projectId } = w);
    sdk = noting(w.sdk);
    runner = await w.runner();
    const repository = 'https://git.example.com/acme/web';
    environmentId = (await sdk.environments.create(projectId, { name: 'production', repository })).id;
  });

  afterAll(() => {
    const { sdk: plain } = w;
    const built = Object.entries(SPEC).flatMap(([resource, methods]) =>
      methods
        .split(' ')
        .filter(
          (method) => typeof (plain as unknown as Record<string, Methods>)[resource]?.[method] === 'function',
        )
        .map((method) => `${resource}.${method}`),
    );
    // A new one needs its call here.
    expect(built.filter((name) => !called.has(name))).toEqual([]);
  });

  it('projects, environments', async () => {
    const space = await sdk.spaces.create('of projects');
    expect(await sdk.projects.list({ spaceId: space.id })).toEqual([]);
    expect((await sdk.projects.list()).map(({ id }) => id)).toContain(projectId);
    const { projects, nextCursor } = await sdk.projects.listPage({ limit: 1 });
    expect(projects).toHaveLength(1);
    if (nextCursor !== undefined) await sdk.projects.listPage({ limit: 1, cursor: nextCursor });
    const made = await sdk.projects.create({ name: 'short lived', teamId });
    expect((await sdk.projects.get(made.slug)).id).toBe(made.id);
    expect(await refused(sdk.projects.get('prj_none'))).toBe('404 not_found');
    const environment = await sdk.environments.create(made.id, { name: 'staging' });
    await sdk.environments.update(environment.id, { branch: 'next' });
    expect((await sdk.environments.get(environment.id)).branch).toBe('next');
    await sdk.environments.delete(environment.id);
    await sdk.projects.delete(made.id);
  });

  it('builds', async () => {
    const idempotencyKey = randomBytes(8).toString('hex');
    const build = await sdk.builds.create(environmentId, { idempotencyKey });
    expect((await sdk.builds.create(environmentId, { idempotencyKey })).id).toBe(build.id);
    const events: unknown[] = [];
    const following = sdk.builds.streamLogs(environmentId, build.id, (event) => events.push(event));
    await runner.finish(await runner.take());
    await following;
    expect(events.length).toBeGreaterThan(0);
    expect(await sdk.builds.list(environmentId, 1)).toHaveLength(1);
    expect(await sdk.builds.list(environmentId, 2)).toEqual([]);
    expect(await sdk.builds.list(environmentId)).toHaveLength(1);
    expect((await sdk.builds.get(environmentId, build.id)).state).toBe('succeeded');
    expect(Object.keys(await sdk.builds.trace(environmentId, build.id)).toSorted()).toEqual([
      'traceId',
      'url',
    ]);
    expect(await sdk.builds.unlock(environmentId)).toEqual({});
    expect(await sdk.builds.unlock(environmentId, true)).toEqual({});
    expect(await refused(sdk.builds.deployApproval(environmentId, build.id, 'approve'))).toBe(
      '409 build_not_waiting',
    );
    expect(await refused(sdk.builds.rollback(environmentId, build.id))).toBe('409 build_not_deployable');
    expect((await sdk.builds.cancel(environmentId, build.id)).state).toBe('succeeded');
    const deploying = sdk.environments.deployAndWait(environmentId, {
      pollIntervalMs: 50,
      pollTimeoutMs: 30_000,
    });
    await runner.finish(await runner.take());
    expect((await deploying).state).toBe('succeeded');
  });

  it('domains', async () => {
    const { id: own } = await sdk.environments.create(projectId, {
      name: 'with-domains',
      deploy: { kind: 'container' },
    });
    const domain = await sdk.domains.create(own, 'app.acme.dev');
    expect(await sdk.domains.list(own)).toEqual([domain]);
    expect(await sdk.domains.enableSsl(own)).toEqual({ domains: [{ ...domain, ssl: true }] });
    expect(await refused(sdk.domains.enableSsl(environmentId))).toBe('409 environment_incomplete');
    expect(await refused(sdk.environments.nginxLogs(own, 'access'))).toBe('409 edge_unavailable');
    await sdk.domains.delete(own, domain.id);
    expect(await sdk.domains.list(own)).toEqual([]);
  });

  it('storage', async () => {
    const deploy = { kind: 'container', app: 'with-storage' } as const;
    const { id: own } = await sdk.environments.create(projectId, { name: 'with-storage', deploy });
    expect(await refused(sdk.storage.create(own, 'uploads', '/srv/uploads'))).toBe('409 host_unavailable');
    await runner.call('heartbeat', { facts: { ...FACTS, host: { volumes: true } } });
    const mount = await sdk.storage.create(own, 'uploads', '/srv/uploads');
    expect(await sdk.storage.list(own)).toEqual([mount]);
    await sdk.storage.delete(own, mount.id);
    expect(await sdk.storage.list(own)).toEqual([]);
  });

  it('templates', async () => {
    const repository = 'https://git.example.com/acme/shop';
    const wanted = { name: 'Shop', slug: `shop-${projectId.slice(-8)}`, repository, teamId } as const;
    const made = await sdk.templates.create({ ...wanted, visibility: 'team' });
    const of = await sdk.templates.createFromEnvironment(environmentId, { name: 'Ours', slug: 'ours' });
    expect((await sdk.templates.list()).map(({ id }) => id)).toEqual([of.id, made.id]);
    expect(await sdk.templates.update(made.id, { name: 'Store', buildCommand: 'make' })).toMatchObject({
      name: 'Store',
      buildCommand: 'make',
    });
    const services = [
      { name: 'data', kind: 'storage', hostPath: 'data', containerPath: '/srv/data' },
    ] as const;
    expect((await sdk.templates.replaceServices(made.id, [...services])).services).toEqual(services);
    expect((await sdk.templates.resync(made.id)).syncState).toBe('pending');
    expect((await sdk.templates.get(made.id)).revision).toBe(3);
    const { environment, build } = await sdk.projects.deployTemplate(projectId, made.id);
    expect(environment).toMatchObject({ name: made.slug, projectId });
    expect(build?.state).toBe('queued');
    const deployed = await sdk.templates.deploy(projectId, of.id, 'deployed');
    expect(deployed).toMatchObject({ environment: { name: 'deployed' }, missingVariables: [] });
    await sdk.templates.delete(made.id);
    expect(await refused(sdk.templates.get(made.id))).toBe('404 not_found');
  });

  it('databases', async () => {
    const deploy = { kind: 'container', app: 'with-database' } as const;
    const { id: own } = await sdk.environments.create(projectId, { name: 'with-database', deploy });
    expect(await refused(sdk.database.create(own, 'postgres'))).toBe('409 host_unavailable');
    await runner.call('heartbeat', { facts: { ...FACTS, host: { databases: true } } });
    for (const each of [sdk.database, sdk.testDatabase]) {
      const made = await each.create(own, 'postgres', { imageVersion: '16' });
      expect(await each.get(own)).toEqual(made);
      await each.delete(own);
    }
    expect(await sdk.database.get(own)).toMatchObject({ state: 'deleting' });
    expect(await refused(sdk.testDatabase.get(own))).toBe('404 not_found');
  });

  it('variables, build steps, webhooks', async () => {
    const one = await sdk.variables.set(environmentId, 'ONE', '1');
    await sdk.variables.update(environmentId, one.id, 'ONE', '2');
    await sdk.variables.setMany(environmentId, { TWO: '2', headers: '3' });
    await sdk.variables.delete(environmentId, one.id, 'ONE');
    expect((await sdk.variables.list(environmentId)).map(({ name }) => name).toSorted()).toEqual([
      'TWO',
      'headers',
    ]);
    const step = await sdk.buildSteps.add(environmentId, 'npm ci');
    await sdk.buildSteps.add(environmentId, 'npm test');
    await sdk.buildSteps.move(environmentId, step.id, 'down');
    expect((await sdk.buildSteps.list(environmentId)).at(-1)?.id).toBe(step.id);
    await sdk.buildSteps.delete(environmentId, step.id);
    expect(await sdk.webhooks.list(environmentId)).toEqual([]);
    expect(await refused(sdk.webhooks.delete(environmentId, `cic_${NONE}`))).toBe('404 not_found');
    expect(await sdk.webhooks.deliveries(environmentId, { limit: 5 })).toEqual([]);
  });

  it('teams', async () => {
    const idempotencyKey = randomBytes(8).toString('hex');
    const make = async () => await sdk.teams.create('second', [], { idempotencyKey });
    const { id } = await make();
    expect((await make()).id).toBe(id);
    expect((await sdk.teams.list()).map((team) => team.id)).toContain(id);
    const guest = await w.stranger();
    const change = {
      name: 'renamed',
      description: 'x',
      avatarUrl: 'https://app.example/a.png',
      kind: 'organization',
    } as const;
    await sdk.teams.update(id, change);
    await sdk.teams.billing(id);
    const { invite } = await sdk.teams.inviteMember(id, `${randomBytes(6).toString('hex')}@example.com`);
    expect(invite?.role).toBe('developer');
    await sdk.teams.revokeInvite(id, invite?.id ?? '');
    const { token } = await sdk.teams.inviteMember(id, guest.email, 'viewer');
    await noting(guest.sdk).teams.acceptInvite(token ?? '');
    await sdk.teams.updateMemberRole(id, guest.userId, 'developer');
    await sdk.teams.removeMember(id, guest.userId);
    expect(await sdk.teams.setFailureSignatureSharing(id, true)).toMatchObject({ shareFailures: true });
    expect(await sdk.teams.listFailureSignatures(id)).toEqual([]);
    await sdk.teams.delete(id);
  });

  it('account, keys, billing, plans', async () => {
    const person: Member = await w.stranger();
    const own = noting(person.sdk);
    expect((await own.account.whoami()).userId).toBe(person.userId);
    await own.account.plan();
    await own.account.updateUsername(`u${randomBytes(5).toString('hex')}`);
    expect(await own.account.totpStatus()).toMatchObject({ enrolled: false });
    const { secret } = await own.account.totpEnroll();
    const step = Math.floor(Date.now() / 30_000);
    await own.account.totpConfirm(totpCode(fromBase32(secret), step));
    expect(await refused(own.account.totpDisable())).toBe('403 proof_required');
    const signedIn = await w
      .as()
      .auth.login(person.email, person.password, { totpCode: totpCode(fromBase32(secret), step + 1) });
    const fresh = noting(w.as(signedIn.token));
    await fresh.account.totpDisable();
    expect(await fresh.account.totpStatus()).toMatchObject({ enrolled: false });
    await fresh.account.changePassword(person.password, 'another correct horse');
    const { apiKey } = await fresh.apiKeys.create('laptop');
    expect((await fresh.apiKeys.list()).map(({ id }) => id)).toContain(apiKey?.id);
    await fresh.apiKeys.revoke(apiKey?.id ?? '');
    const [plan] = await fresh.plans.list();
    expect(await refused(fresh.billing.checkout({ plan: plan?.id ?? 'team', ...returnTo }))).not.toMatch(
      /^40[04]/,
    );
    expect(await refused(fresh.billing.portal('https://app.example'))).not.toMatch(/^40[04]/);
  });

  it('artifacts, releases, promotions, policies', async () => {
    const artifact = await sdk.artifacts.declare(teamId, {
      name: 'registry.example.com/acme/web',
      kind: 'image',
      digest: DIGEST,
    });
    expect((await sdk.artifacts.list(teamId)).map(({ id }) => id)).toContain(artifact.id);
    await sdk.artifacts.get(teamId, artifact.id);
    for (const by of [{ digest: DIGEST }, { commit: 'c'.repeat(40) }, { packageName: 'left-pad' }])
      await sdk.artifacts.impact(teamId, by);
    await sdk.artifacts.lineage(teamId, artifact.id);
    await sdk.artifacts.attestations(teamId, artifact.id);
    expect(['not refused', '404 passport_not_ready']).toContain(
      await refused(sdk.artifacts.passport(teamId, artifact.id)),
    );
    await sdk.artifacts.attestEvaluation(teamId, artifact.id, {
      suiteId: 'mmlu',
      suiteName: 'MMLU',
      score: 0.5,
      evaluatedAt: new Date(Date.now() - 60_000).toISOString(),
      methodologyVersion: '1',
      caseResults: [],
    });
    const release = await sdk.releases.create(projectId, {
      version: '1.0.0',
      notes: 'first',
      artifactIds: [artifact.id],
    });
    expect(await sdk.releases.list(projectId)).toHaveLength(1);
    await sdk.releases.get(projectId, release.id);
    const promotion = await sdk.promotions.create(environmentId, release.id);
    expect(promotion.state).toBe('pending');
    await sdk.promotions.approve(environmentId, promotion.id);
    expect(await sdk.promotions.list(environmentId)).toHaveLength(1);
    const document = {
      on: ['build.create'],
      rules: [{ id: 'main', message: 'production alone', require: "environment.name == 'production'" }],
    };
    const policy = await sdk.policies.create(teamId, { name: 'main', document, projectId });
    await sdk.policies.get(teamId, policy.id);
    await sdk.policies.updateDocument(teamId, policy.id, document);
    await sdk.policies.enable(teamId, policy.id);
    await sdk.policies.disable(teamId, policy.id);
    await noting((await w.member('viewer')).sdk).policies.simulate(teamId, policy.id, 10);
    await sdk.policies.decisions(teamId, policy.id);
    expect(await sdk.policies.list(teamId)).toHaveLength(1);
  });

  it('Connect', async () => {
    const wanted = {
      provider: 'generic',
      repositoryHost: 'git.example.com',
      repositoryPath: `acme/${randomBytes(4).toString('hex')}`,
    } as const;
    const connection = await sdk.ci.createConnection(teamId, {
      ...wanted,
      projectId,
      defaultBranch: 'main',
      ingestMode: 'both',
    });
    expect(await sdk.ci.listConnections(teamId)).toHaveLength(1);
    const { repositories, nextPage } = await sdk.repositories.list({ teamId, q: 'acme', page: 1 });
    expect(repositories.flatMap(({ connectionIds }) => connectionIds)).toHaveLength(1);
    expect(nextPage).toBeUndefined();
    await sdk.ci.getConnection(connection.id);
    await sdk.ci.updateConnection(connection.id, {
      defaultBranch: 'next',
      ingestMode: 'webhook',
      status: 'active',
    });
    expect(await sdk.ci.listPipelines(connection.id)).toEqual([]);
    expect(await refused(sdk.ci.listRunsForPipeline(`cip_${NONE}`))).toBe('404 not_found');
    const { secret } = await sdk.apiKeys.create('ci', { scopes: ['ci:read', 'ci:write'], teamId });
    const job = noting(w.as(secret));
    const run = await job.ci.report({
      ciConnectionId: connection.id,
      externalRunId: '1',
      status: 'running',
      environmentId,
    });
    await job.ci.reportJobs(run.id, [{ name: 'test', status: 'running' }]);
    await job.ci.complete(run.id, 'success', 1_000);
    expect((await sdk.ci.getRun(run.id)).status).toBe('success');
    expect(await sdk.ci.listRunJobs(run.id)).toHaveLength(1);
    const ended = { ciConnectionId: connection.id, externalRunId: '2', status: 'success' } as const;
    expect((await job.ci.reportAndWait(ended, { pollIntervalMs: 50, timeoutMs: 5_000 })).status).toBe(
      'success',
    );
    expect((await sdk.timeline.get(environmentId, { limit: 5 })).entries.length).toBeGreaterThan(0);
    await sdk.timeline.get(environmentId, { cursor: new Date().toISOString(), limit: 1 });
    await sdk.ci.deleteConnection(connection.id);
  });

  it('spaces, graph', async () => {
    const space = await sdk.spaces.create('research', []);
    await sdk.spaces.update(space.id, { name: 'search', description: 'x' });
    expect((await sdk.spaces.list()).map(({ id }) => id)).toContain(space.id);
    await sdk.spaces.search(space.id, 'web', ['project']);
    await sdk.spaces.overview(space.id);
    const messages = [{ role: 'user', content: 'how is production?' }] as const;
    expect(await refused(sdk.spaces.ai(space.id, messages))).toMatch(/^503 /);
    const bound = w.sdk.space(space.id);
    expect(await bound.projects.list()).toEqual([]);
    await bound.search('web');
    await bound.overview();
    expect(await refused(bound.ai(messages))).toMatch(/^503 /);
    const ref = `graph:environment:${environmentId}`;
    await sdk.graph.node(ref);
    await sdk.graph.edges(ref, 2);
    await refused(sdk.graph.commit('c'.repeat(40)));
  });

  it('costs, budgets, compliance', async () => {
    await sdk.costs.summary(teamId, {});
    expect(await sdk.costs.anomalies(teamId, 50)).toEqual([]);
    const text = await sdk.costs.exportCsv(teamId).text();
    expect(text.length).toBeGreaterThan(0);
    expect((await sdk.costs.exportJson(teamId).bytes()).length).toBeGreaterThan(0);
    let pieces = 0;
    for await (const piece of sdk.costs.exportCsv(teamId)) pieces += piece.length;
    expect(pieces).toBe(Buffer.byteLength(text));
    await sdk.costs.listCreditLedger(teamId);
    await sdk.costs.creditBalance(teamId);
    expect(
      await refused(sdk.costs.createCreditCheckout(teamId, { amountCents: 1_000, ...returnTo })),
    ).not.toMatch(/^40[04]/);
    const budget = await sdk.budgets.set(teamId, { environmentId, monthlyLimit: 100, enabled: true });
    await sdk.budgets.set(teamId, { id: budget.id, environmentId, monthlyLimit: 200 });
    expect(await sdk.budgets.list(teamId)).toHaveLength(1);
    await sdk.budgets.delete(teamId, budget.id);
    const day = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const assembled = await sdk.compliance.assemble(teamId, day(2), day(1));
    expect((await sdk.compliance.list(teamId)).map(({ id }) => id)).toContain(assembled.id);
    const ready = async () => (await sdk.compliance.get(teamId, assembled.id)).state;
    await expect.poll(ready).toBe('assembled');
    expect(await refused(sdk.compliance.export(teamId, assembled.id))).toMatch(/^403 /);
    await sdk.compliance.markLegalReviewed(teamId, assembled.id);
    expect((await sdk.compliance.export(teamId, assembled.id)).length).toBeGreaterThan(0);
  });

  it('behind features that are off: incidents, residency, maintenance', async () => {
    const artifact = await sdk.artifacts.declare(teamId, {
      name: 'registry.example.com/acme/off',
      kind: 'image',
      digest: `sha256:${'7'.repeat(64)}`,
    });
    expect(await sdk.incidents.list(environmentId)).toEqual([]);
    const acts = [sdk.incidents.get, sdk.incidents.mitigate, sdk.incidents.resolve, sdk.incidents.dismiss];
    for (const act of acts) expect(await refused(act(`inc_${NONE}`))).toBe('404 not_found');
    expect(await sdk.residency.listForEnvironment(environmentId)).toEqual([]);
    expect(await sdk.residency.attestEnvironment(environmentId)).toEqual({});
    expect(await sdk.residency.listForArtifact(teamId, artifact.id)).toEqual([]);
    expect(await sdk.residency.attestArtifact(teamId, artifact.id)).toEqual({});
    const repository = 'github.com/acme/web';
    await sdk.maintenance.updateSettings(teamId, repository, 'docs', {
      enabled: true,
      monthlyBudgetCents: 100,
    });
    const agent = await sdk.agents.create(teamId, {
      name: 'mender',
      kind: 'maintenance',
      permissions: ['project:read', 'project:write'],
    });
    const asked = {
      category: 'docs',
      proposal: 'mend the links',
      estimatedCostCents: 5,
      agentIdentityId: agent.id,
    };
    const task = await sdk.maintenance.triggerRun(teamId, repository, asked);
    expect(task).toMatchObject({ state: 'proposed', waitingFor: { code: 'feature_off' } });
    expect(await sdk.maintenance.listTasks(teamId, repository)).toEqual([task]);
  });

  it('agents', async () => {
    const { id } = await sdk.agents.create(teamId, {
      name: 'bot',
      kind: 'review',
      permissions: ['run:read'],
    });
    expect((await sdk.agents.list(teamId)).map((agent) => agent.id)).toContain(id);
    const { key, secret, expiresAt } = await sdk.agents.issueKey(teamId, id, { expiresInMs: 60_000 });
    expect([key?.agentId, key?.expiresAt]).toEqual([id, expiresAt]);
    expect(await w.as(secret).sandboxRuns.list(teamId)).toEqual([]);
    expect(await sdk.agents.runs(teamId, id)).toEqual([]);
    const asked = { action: 'build.create', resourceId: environmentId };
    const { token, approval } = await sdk.agents.issueApprovalToken(teamId, id, asked);
    expect([token.slice(0, 4), approval]).toEqual([
      'apt_',
      expect.objectContaining({ state: 'granted', ...asked }),
    ]);
    expect((await sdk.agents.setEnabled(teamId, id, false)).enabled).toBe(false);
    expect(await refused(w.as(secret).sandboxRuns.list(teamId))).toBe('401 credentials_invalid');
  });

  it('audit, notifications, features', async () => {
    expect((await sdk.audit.list(teamId)).length).toBeGreaterThan(0);
    await sdk.audit.verify(teamId);
    const lines: unknown[] = [];
    await sdk.audit.export(teamId, (line) => lines.push(line));
    expect(lines.length).toBeGreaterThan(0);
    await sdk.notifications.list({ limit: 5, offset: 0 });
    expect(await refused(sdk.notifications.markRead(`ntf_${NONE}`))).toBe('404 not_found');
    await sdk.notifications.markAllRead();
    expect(await sdk.platformFeatures.resolved()).toMatchObject({ 'host.ci': true });
    const staff = noting(w.staff);
    expect((await staff.platformFeatures.list()).map(({ key }) => key)).toContain('host.ci');
    await staff.platformFeatures.history('host.ci');
    const change = await staff.platformFeatures.setState('host.ci', { state: 'enabled', reason: 'x' });
    expect(change.changed).toBe(false);
  });
});

function fromBase32(text: string): Buffer {
  const bits = [...text]
    .map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
