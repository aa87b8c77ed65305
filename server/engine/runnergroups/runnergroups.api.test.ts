/** These tests call runner groups, and runners in them, over HTTP. */
import { beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { join } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { newId } from '../../base/ids.ts';

describe.skipIf(!(await has('postgres')))('runner groups', () => {
  const { server, call, ok, made } = ownServer();
  let teamId: string;
  let names = 0;

  const group = async (body: object): Promise<string> =>
    await made(`POST /teams/${teamId}/runner-groups`, body);
  const runner = async (labels: object = {}): Promise<string> => {
    const id = newId('rnr');
    const { sql } = server.db;
    await sql`
      insert into runners (id, team_id, name, key_id, public_key, labels, enrolled_at)
      values (${id}, ${teamId}, ${`box-${(names += 1)}`}, ${id}, ${Buffer.alloc(32)}, ${sql.json(labels as never)}, now())`;
    return id;
  };
  const acts = async (prefix: string): Promise<string[]> => {
    const rows = await server.db.sql<Array<{ action: string }>>`
      select action from audit_entries where chain = ${teamId} and action like ${`${prefix}%`} order by seq`;
    return rows.map(({ action }) => action);
  };

  beforeEach(async () => {
    teamId = await made('POST /teams', { name: `team ${(names += 1)}` });
  });

  it('are made, changed, listed by name and deleted, and the ledger says so', async () => {
    const gpu = await group({ name: 'gpu', labels: { gpu: 'a100', zone: 'a' }, maxRunning: 4 });
    await group({ name: 'arm' });
    const route = `/teams/${teamId}/runner-groups`;
    const { runnerGroups } = await ok(`GET ${route}`);
    expect(runnerGroups).toMatchObject([{ name: 'arm' }, { name: 'gpu', maxRunning: 4 }]);
    const changed = await ok(`PATCH ${route}/${gpu}`, { labels: { zone: '', rack: '7' }, maxRunning: 0 });
    expect(changed).toMatchObject({ name: 'gpu', labels: { gpu: 'a100', rack: '7' } });
    expect(changed).not.toHaveProperty('maxRunning');
    expect(await ok(`GET ${route}/${gpu}`)).toEqual(changed);
    const taken = await call(`PATCH ${route}/${gpu}`, { name: 'arm' });
    expect(taken).toMatchObject({ status: 409, code: 'name_taken' });
    expect(await call(`POST ${route}`, { name: 'gpu' })).toMatchObject({ status: 409, code: 'name_taken' });
    const many = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, 'x']));
    expect(await call(`PATCH ${route}/${gpu}`, { labels: many })).toMatchObject({ code: 'limit_reached' });
    expect((await call(`DELETE ${route}/${gpu}`)).status).toBe(204);
    expect((await call(`GET ${route}/${gpu}`)).status).toBe(404);
    expect(await acts('runner_group')).toEqual([
      'runner_group.created',
      'runner_group.created',
      'runner_group.updated',
      'runner_group.deleted',
    ]);
  });

  it('are in use while a runner that is not revoked is in them', async () => {
    const id = await group({ name: 'gpu', labels: { gpu: 'a100' } });
    const [one, gone] = [await runner(), await runner()];
    const put = async (runnerId: string, body: object) =>
      await ok(`PATCH /teams/${teamId}/runners/${runnerId}`, body);
    expect(await put(one, { groupId: id })).toMatchObject({
      groupId: id,
      groupName: 'gpu',
      labels: { gpu: 'a100' },
    });
    await put(gone, { groupId: id });
    await server.db.sql`update runners set revoked_at = now() where id = ${gone}`;
    const route = `DELETE /teams/${teamId}/runner-groups/${id}`;
    expect(await call(route)).toMatchObject({ status: 409, code: 'in_use' });
    expect(await put(one, { groupId: '' })).not.toHaveProperty('groupId');
    expect((await call(route)).status).toBe(204);
  });

  it('and a person’s labels win over what the daemon declares, whoever declares it', async () => {
    const id = await runner({ os: 'linux', gpu: 'a100' });
    const path = `/teams/${teamId}/runners/${id}`;
    expect(await ok(`PATCH ${path}`, { labels: { os: 'bsd', rack: '7' } })).toMatchObject({
      labels: { os: 'bsd', gpu: 'a100', rack: '7' },
      setLabels: { os: 'bsd', rack: '7' },
    });
    await group({ name: 'gpu', labels: { gpu: 'a100' } });
    // It is not in the group, so that what it says of itself counts for nothing any more.
    expect(await ok(`GET ${path}`)).toMatchObject({ labels: { os: 'bsd', rack: '7' } });
    await ok(`PATCH ${path}`, { labels: { os: '', rack: '' } });
    await ok(`PATCH ${path}`, { labels: { os: '' } });
    expect(await ok(`GET ${path}`)).toMatchObject({ labels: { os: 'linux' } });
    expect(await acts('runner.')).toEqual(['runner.updated', 'runner.updated']);
  });

  it('are the team’s own, and a developer changes none', async () => {
    const id = await group({ name: 'gpu' });
    const mine = await runner();
    teamId = await made('POST /teams', { name: 'other' });
    const theirs = await runner();
    expect(await call(`PATCH /teams/${teamId}/runners/${theirs}`, { groupId: id })).toMatchObject({
      status: 404,
    });
    expect((await call(`GET /teams/${teamId}/runner-groups/${id}`)).status).toBe(404);
    expect((await call(`PATCH /teams/${teamId}/runners/${mine}`, { labels: { a: 'b' } })).status).toBe(404);
    const { token } = await join(server, server.first.apiKey, { teamId, role: 'developer' });
    expect((await call(`POST /teams/${teamId}/runner-groups`, { name: 'x' }, token)).status).toBe(403);
    expect((await call(`GET /teams/${teamId}/runner-groups`, undefined, token)).status).toBe(200);
  });

  it('beside shares in the service’s pool, which staff set', async () => {
    const staff = server.first.staffApiKey;
    const route = `/admin/teams/${teamId}/shares`;
    expect((await call(`PUT ${route}`, { runs: { weight: 3 } })).status).toBe(403);
    const plain = { teamId, runs: { weight: 1 }, builds: { weight: 1 } };
    expect((await call(`GET ${route}`, undefined, staff)).body).toEqual(plain);
    const set = { runs: { weight: 3 }, builds: { maxRunning: 0 } };
    const shares = { teamId, runs: { weight: 3 }, builds: { weight: 1, maxRunning: 0 } };
    expect((await call(`PUT ${route}`, set, staff)).body).toEqual(shares);
    expect((await call(`GET ${route}`, undefined, staff)).body).toEqual(shares);
    expect((await call(`PUT ${route}`, { runs: { weight: 101 } }, staff)).status).toBe(400);
    expect((await call(`PUT ${route}`, {}, staff)).body).toEqual(plain);
    expect((await call('PUT /admin/teams/team_none/shares', {}, staff)).status).toBe(404);
    expect(await acts('team_shares')).toEqual(['team_shares.set', 'team_shares.set']);
  });
});
