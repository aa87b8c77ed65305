/**
 * Incidents over the real door, opened by rows that nothing of the platform writes yet: states, races, and
 * who sees them.
 */
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { systemClock } from '../../base/clock.ts';
import { systemScope } from '../../kit/authorise.ts';
import { rowsOf } from '../../kit/resource/index.ts';
import { incidents } from './schema.ts';

const INVALID = '400 validation_failed';

describe.skipIf(!(await has('postgres')))('incidents', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let teamId: string;
  let environmentId: string;
  let id: string;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const open = async (title: string, at = new Date()) =>
    await rowsOf(incidents).insert(
      { db: server.db, clock: { ...systemClock, now: () => at }, teams: systemScope(teamId) },
      { teamId, environmentId, severity: 'high', title, openedAt: at },
    );

  beforeAll(async () => {
    server = await startTestServer();
    ({ teamId } = server.first);
    sdk = sdkOf(server.first.apiKey);
  });
  afterAll(async () => await server.stop());
  beforeEach(async () => {
    await setFeature(server, 'host.incidents', 'enabled');
    const project = await sdk.projects.create({ name: 'incidents', teamId });
    environmentId = (await sdk.environments.create(project.id, { name: 'production' })).id;
    ({ id } = await open('the lights went out'));
  });

  it('that are stored are shown and closed while the feature is off, and every answer names it', async () => {
    await setFeature(server, 'host.incidents', 'disabled');
    const listed = await sdk.incidents.listPage(environmentId).withResponse();
    expect(listed.data.incidents.map((incident) => incident.id)).toEqual([id]);
    expect(listed.response.headers.get('svc-feature-off')).toBe('host.incidents');
    expect((await sdk.incidents.mitigate(id)).state).toBe('mitigated');
    expect((await sdk.incidents.resolve(id)).state).toBe('resolved');
    const ended = await server.call(`POST /incidents/${id}/dismiss`, { as: server.first.apiKey, body: {} });
    expect([ended.status, ended.headers.get('svc-feature-off')]).toEqual([409, 'host.incidents']);
    expect(await refused(sdk.incidents.get(`inc_${'0'.repeat(26)}`))).toBe('404 not_found');
    await setFeature(server, 'host.incidents', 'enabled');
    expect((await sdk.incidents.get(id).asResponse()).headers.get('svc-feature-off')).toBeNull();
  });

  it('are shown with what is known, and without times that have not come', async () => {
    const shown = await sdk.incidents.get(id);
    const said = { title: 'the lights went out', description: '' };
    expect(shown).toMatchObject({ id, teamId, environmentId, state: 'open', severity: 'high', ...said });
    for (const time of ['mitigatedAt', 'closedAt']) expect(shown).not.toHaveProperty(time);
  });

  it('are listed newest first, page by page, of one environment alone', async () => {
    const at = new Date(Date.now() + 60_000);
    for (let n = 0; n < 4; n += 1) await open(`same moment ${n}`, at); // The id has to break the tie.
    const page = await sdk.incidents.listPage(environmentId, { limit: 2 });
    expect(page.incidents).toHaveLength(2);
    const all = await sdk.incidents.list(environmentId);
    expect(all).toHaveLength(5);
    expect(all.slice(0, 2)).toEqual(page.incidents);
    expect(all.at(-1)?.id).toBe(id);
    const ids = all.slice(0, 4).map((incident) => incident.id);
    expect(ids).toEqual(ids.toSorted().toReversed());
    const project = await sdk.projects.create({ name: 'quiet', teamId });
    const quiet = await sdk.environments.create(project.id, { name: 'quiet' });
    expect(await sdk.incidents.list(quiet.id)).toEqual([]);
    expect(await refused(sdk.incidents.listPage(quiet.id, { cursor: page.nextCursor ?? '' }))).toBe(INVALID);
  });

  it('go from open over mitigated to resolved, and each step said twice counts once', async () => {
    const mitigated = await sdk.incidents.mitigate(id);
    expect(mitigated.state).toBe('mitigated');
    expect(await sdk.incidents.mitigate(id)).toEqual(mitigated);
    const resolved = await sdk.incidents.resolve(id);
    expect(resolved).toMatchObject({ state: 'resolved', mitigatedAt: mitigated.mitigatedAt });
    expect(await sdk.incidents.resolve(id)).toEqual(resolved);
    expect(await sdk.incidents.get(id)).toEqual(resolved);
  });

  it('leave an entry in the ledger for each step, and none for what changed nothing', async () => {
    await sdk.incidents.mitigate(id);
    await sdk.incidents.mitigate(id);
    await sdk.incidents.dismiss(id);
    await refused(sdk.incidents.resolve(id));
    const entries = await server.db.sql<Array<{ chain: string; action: string }>>`
      select chain, action from audit_entries where target = ${id} order by seq`;
    expect(entries.map(({ chain, action }) => [chain, action])).toEqual([
      [teamId, 'incident.mitigated'],
      [teamId, 'incident.dismissed'],
    ]);
  });

  it('end for good', async () => {
    const resolved = await sdk.incidents.resolve(id);
    expect(await refused(sdk.incidents.mitigate(id))).toBe('409 state_conflict');
    expect(await refused(sdk.incidents.dismiss(id))).toBe('409 state_conflict');
    expect(await sdk.incidents.get(id)).toEqual(resolved);

    const other = await open('a false alarm');
    expect((await sdk.incidents.dismiss(other.id)).state).toBe('dismissed');
    expect(await refused(sdk.incidents.resolve(other.id))).toBe('409 state_conflict');
  });

  it('end once when two people end them differently at the same moment', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id: contested } = await open(`round ${round}`);
      const ends = ['resolve', 'dismiss', 'resolve', 'dismiss'] as const;
      const answers = await Promise.allSettled(ends.map(async (end) => await sdk.incidents[end](contested)));
      const { state } = await sdk.incidents.get(contested);
      const won = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.state] : []));
      expect(won).toEqual([state, state]);
    }
  });

  it('are changed by developers and read by viewers', async () => {
    const viewer = sdkOf((await join(server, server.first.apiKey, { teamId, role: 'viewer' })).token);
    expect((await viewer.incidents.get(id)).id).toBe(id);
    expect(await refused(viewer.incidents.dismiss(id))).toBe('403 role_insufficient');
    expect((await sdk.incidents.get(id)).state).toBe('open');
  });

  it('of another team are like missing ones, and stay as they are', async () => {
    const other = sdkOf((await stranger(server)).token);
    for (const call of ['get', 'mitigate', 'resolve', 'dismiss'] as const)
      for (const incidentId of [id, `inc_${'0'.repeat(26)}`])
        expect(await refused(other.incidents[call](incidentId)), call).toBe('404 not_found');
    expect(await refused(other.incidents.list(environmentId))).toBe('404 not_found');
    expect((await sdk.incidents.get(id)).state).toBe('open');
  });

  it('go with their environment', async () => {
    await sdk.environments.delete(environmentId);
    expect(await refused(sdk.incidents.get(id))).toBe('404 not_found');
  });
});
