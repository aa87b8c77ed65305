/**
 * Here maintenance is tested over the real door: an internal feature, settings that keep what is not named,
 * and tasks that nobody takes on.
 */
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { CATEGORIES_MAX } from './index.ts';

const INVALID = '400 validation_failed';
const LOW_ROLE = '403 role_insufficient';
const KEY = 'host.automation.maintenance';
const REPOSITORY = 'github.com/acme/app';

describe.skipIf(!(await has('postgres')))('maintenance', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let teamId: string;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const run = { category: 'dependencies', proposal: 'renew what is a year old', estimatedCostCents: 250 };

  beforeAll(async () => {
    server = await startTestServer({ env: { JOB_RUNNER_ENABLED: 'true' } });
    ({ teamId } = server.first);
    sdk = sdkOf(server.first.apiKey);
    await setFeature(server, KEY, 'enabled');
  });
  afterAll(async () => await server.stop());

  it('stores what is asked for while it is off, and the task says what it waits for', async () => {
    await setFeature(server, KEY, 'disabled');
    expect(await sdk.maintenance.listTasks(teamId, 'off')).toEqual([]);
    const on = { enabled: true };
    expect(await sdk.maintenance.updateSettings(teamId, 'off', 'docs', on)).toMatchObject(on);
    const task = await sdk.maintenance.triggerRun(teamId, 'off', run);
    expect(task).toMatchObject({ ...run, state: 'proposed', waitingFor: { code: 'feature_off' } });
    expect(await sdk.maintenance.listTasks(teamId, 'off')).toEqual([task]);
    await setFeature(server, KEY, 'enabled');
    const { waitingFor: _off, ...rest } = task;
    expect(await sdk.maintenance.listTasks(teamId, 'off')).toEqual([rest]);
  });

  it('names its key to staff alone while it is off, and stands in no list of paths', async () => {
    await setFeature(server, KEY, 'disabled');
    const path = `/teams/${teamId}/repositories/off/maintenance/tasks`;
    for (const as of [server.first.apiKey, server.first.staffApiKey]) {
      const answer = await server.call(`GET ${path}`, { as });
      const staff = as === server.first.staffApiKey;
      expect(answer.headers.get('svc-feature-off'), answer.text).toBe(staff ? KEY : null);
      expect(answer.text).not.toContain(KEY);
    }
    expect((await server.call(`GET ${path}`)).code).toBe('credentials_missing');
    for (const verb of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await server.call(`${verb} ${path}`, { as: server.first.apiKey });
      expect([answer.status, answer.headers.get('allow')], verb).toEqual([404, null]);
    }
    const isTold = async () => (await server.call('GET /openapi.json')).text.includes('/maintenance/tasks');
    expect(await isTold()).toBe(false);
    await setFeature(server, KEY, 'enabled');
    expect(await isTold()).toBe(true);
    expect((await server.call(`DELETE ${path}`, { as: server.first.apiKey })).headers.get('allow')).toBe(
      'GET, HEAD, POST',
    );
  });

  it('keeps a triggered run as a proposed task, once for one key', async () => {
    const once = { idempotencyKey: 'maintenance-once' };
    const agent = await sdk.agents.create(teamId, {
      name: 'mender',
      kind: 'maintenance',
      permissions: ['project:write'],
    });
    const asked = { ...run, agentIdentityId: agent.id };
    const task = await sdk.maintenance.triggerRun(teamId, REPOSITORY, asked, once);
    const { userId: createdBy } = await sdk.account.whoami();
    expect(task).toMatchObject({ ...asked, teamId, repositoryId: REPOSITORY, state: 'proposed', createdBy });
    expect(await sdk.maintenance.triggerRun(teamId, REPOSITORY, asked, once)).toEqual(task);
    const free = await sdk.maintenance.triggerRun(teamId, REPOSITORY, { ...run, estimatedCostCents: 0 });
    expect(free.estimatedCostCents).toBe(0);
    expect(free).not.toHaveProperty('agentIdentityId');

    expect(await sdk.maintenance.listTasks(teamId, REPOSITORY)).toEqual([free, task]);
    expect(await sdk.maintenance.listTasks(teamId, 'github.com/acme/other')).toEqual([]);
    const page = await sdk.maintenance.listTasksPage(teamId, REPOSITORY, { limit: 1 });
    expect(page.tasks).toEqual([free]);
    const cursor = page.nextCursor ?? '';
    expect((await sdk.maintenance.listTasksPage(teamId, REPOSITORY, { cursor })).tasks).toEqual([task]);
    expect(await refused(sdk.maintenance.listTasksPage(teamId, 'other', { cursor }))).toBe(INVALID);
  });

  it('names an agent of the team that may change projects, and no other', async () => {
    const asked = async (agentIdentityId: string) =>
      await refused(sdk.maintenance.triggerRun(teamId, REPOSITORY, { ...run, agentIdentityId }));
    const { id } = await sdk.agents.create(teamId, {
      name: 'able',
      kind: 'custom',
      permissions: ['run:read'],
    });
    for (const unknown of ['agt_1', id]) expect(await asked(unknown)).toBe('400 agent_unknown');
    await sdk.agents.update(teamId, id, { permissions: ['project:write'] });
    expect(await asked(id)).toBe('not refused');
    await sdk.agents.setEnabled(teamId, id, false);
    expect(await asked(id)).toBe('400 agent_unknown');
  });

  it('changes only the settings that are named, also when two people change them at once', async () => {
    const update = async (change: { enabled?: boolean; monthlyBudgetCents?: number }) =>
      await sdk.maintenance.updateSettings(teamId, REPOSITORY, 'dependencies', change);
    const fresh = await update({});
    const begun = { teamId, repositoryId: REPOSITORY, category: 'dependencies', enabled: false };
    expect(fresh).toMatchObject(begun);
    expect(fresh).not.toHaveProperty('monthlyBudgetCents');
    await Promise.all([update({ enabled: true }), update({ monthlyBudgetCents: 5_000 })]);
    expect(await update({})).toMatchObject({ enabled: true, monthlyBudgetCents: 5_000 });
    const none = { enabled: false, monthlyBudgetCents: 0 };
    expect(await update(none)).toMatchObject(none);
  });

  it('holds a limited number of categories, and still changes those that are there', async () => {
    await server.db.sql`
      insert into maintenance_settings (team_id, repository_id, category, updated_at)
      select ${teamId}, 'full', 'c' || n, now() from generate_series(1, ${CATEGORIES_MAX}::int) n`;
    const update = (category: string) =>
      sdk.maintenance.updateSettings(teamId, 'full', category, { enabled: true });
    expect(await refused(update('one-more'))).toBe('409 limit_reached');
    expect((await update('c7')).enabled).toBe(true);
  });

  it('leaves entries in the ledger', async () => {
    const task = await sdk.maintenance.triggerRun(teamId, 'ledger', run);
    await sdk.maintenance.updateSettings(teamId, 'ledger', 'docs', { enabled: true });
    const entries = await server.db.sql<Array<{ action: string }>>`
      select action from audit_entries where chain = ${teamId} and target in (${task.id}, 'ledger') order by seq`;
    expect(entries.map(({ action }) => action)).toEqual([
      'maintenance.run_triggered',
      'maintenance.settings_updated',
    ]);
  });

  it('refuses what the contract does not allow', async () => {
    for (const body of [
      { ...run, estimatedCostCents: undefined },
      { ...run, estimatedCostCents: -1 },
      { ...run, category: 'Not A Word' },
      { ...run, proposal: '' },
    ]) {
      const path = `POST /teams/${teamId}/repositories/app/maintenance/tasks`;
      const answer = await server.call(path, { as: server.first.apiKey, body });
      expect(answer.status, answer.text).toBe(400);
    }
    expect(await refused(sdk.maintenance.listTasks(teamId, '../etc'))).toBe(INVALID);
  });

  it('is proposed by developers, set by admins, read by viewers, and hidden from others', async () => {
    const as = async (role: string) =>
      sdkOf((await join(server, server.first.apiKey, { teamId, role })).token);
    const [developer, viewer] = [await as('developer'), await as('viewer')];
    const other = sdkOf((await stranger(server)).token);
    expect((await developer.maintenance.triggerRun(teamId, 'roles', run)).state).toBe('proposed');
    expect(await refused(developer.maintenance.updateSettings(teamId, 'roles', 'docs', {}))).toBe(LOW_ROLE);
    expect(await viewer.maintenance.listTasks(teamId, 'roles')).toHaveLength(1);
    expect(await refused(viewer.maintenance.triggerRun(teamId, 'roles', run))).toBe(LOW_ROLE);
    expect(await refused(other.maintenance.listTasks(teamId, 'roles'))).toBe('404 not_found');
    expect(await refused(other.maintenance.triggerRun(teamId, 'roles', run))).toBe('404 not_found');
  });
});
