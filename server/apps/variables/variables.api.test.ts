/** Variables, build steps and what an environment holds for its builds, over the real door. */
import type { BuildStep, Variable } from '@svc/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { stranger } from '../../../test/setup/people.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { createSecrets, loadKek } from '../../base/secrets.ts';
import { openVariables } from './index.ts';

const CANARY = 'canary-4f1c9b7e2d';

describe.skipIf(!(await has('postgres')))('what an environment holds for its builds', () => {
  let server: TestServer;
  let as: string;
  let path: string;
  let environmentId: string;
  let names = 0;

  beforeAll(async () => {
    server = await startTestServer();
    as = server.first.apiKey;
  });
  afterAll(async () => await server.stop());
  const call = async (route: string, body?: unknown) => await server.call(route, { as, body });
  const made = async (route: string, body: unknown) => {
    const answer = await call(route, body);
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  beforeEach(async () => {
    const project = await made('POST /projects', { name: 'held', teamId: server.first.teamId });
    const environment = await made(`POST /projects/${String(project['id'])}/environments`, {
      name: `e${(names += 1)}`,
    });
    environmentId = String(environment['id']);
    path = `/environments/${environmentId}`;
  });
  const opened = async () => {
    const secrets = createSecrets(loadKek(undefined, server.dataDir));
    return await openVariables(server.db, secrets, { id: environmentId, teamId: server.first.teamId });
  };
  const list = async () => (await made(`GET ${path}/variables`, undefined))['variables'] as Variable[];
  const set = async (name: string, value: string, more: object = {}) =>
    (await made(`POST ${path}/variables`, { name, value, ...more })) as unknown as Variable;

  describe('variables', () => {
    it('are set by name, and stay the same variable', async () => {
      const first = await set('MODE', 'one');
      const second = await set('MODE', 'two');
      expect(second).toMatchObject({ id: first.id, value: 'two', secret: false });
      expect(await list()).toMatchObject([{ name: 'MODE', value: 'two' }]);
    });

    it('are never shown again once they are secret, and stay secret unless told otherwise', async () => {
      const answer = await call(`POST ${path}/variables`, { name: 'TOKEN', value: CANARY, secret: true });
      expect(answer.text).not.toContain(CANARY);
      await set('TOKEN', `${CANARY}-2`);
      expect(await list()).toEqual([expect.not.objectContaining({ value: expect.anything() })]);
      expect((await list())[0]).toMatchObject({ name: 'TOKEN', secret: true });
      const rows = await server.asOwner(
        `select to_jsonb(v)::text as row from variables v where name = 'TOKEN'`,
      );
      const ledger = await server.asOwner(`select to_jsonb(a)::text as row from audit_entries a`);
      expect(JSON.stringify([rows, ledger])).not.toContain(CANARY);
      expect(JSON.stringify(ledger)).toContain('TOKEN');
      expect(await opened()).toEqual({ variables: {}, secrets: { TOKEN: `${CANARY}-2` } });
    });

    it('do not open when they were moved to another row', async () => {
      await set('A', CANARY, { secret: true });
      await set('B', 'other', { secret: true });
      await server.asOwner(
        `update variables set sealed = (select sealed from variables where environment_id = '${environmentId}' and name = 'A')
         where environment_id = '${environmentId}' and name = 'B'`,
      );
      await expect(opened()).rejects.toThrow(/authenticate/);
    });

    it('are renamed, but not onto another one', async () => {
      const one = await set('ONE', '1');
      await set('TWO', '2');
      const route = `PATCH ${path}/variables/${one.id}`;
      expect((await call(route, { name: 'TWO', value: 'x' })).code).toBe('name_taken');
      expect((await call(route, { name: 'UNO', value: 'x' })).body).toMatchObject({
        id: one.id,
        name: 'UNO',
      });
      expect((await list()).map(({ name, value }) => [name, value])).toEqual([
        ['TWO', '2'],
        ['UNO', 'x'],
      ]);
    });

    it('are set all or none', async () => {
      await set('KEPT', 'k', { secret: true });
      const tooMany = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`V${n}`, '']));
      const refused = await call(`PUT ${path}/variables`, { variables: tooMany });
      expect([refused.status, refused.code]).toEqual([409, 'limit_reached']);
      const big = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`BIG${n}`, 'x'.repeat(65_536)]));
      expect((await call(`PUT ${path}/variables`, { variables: big })).text).toContain('at most 1048576');
      expect((await list()).map(({ name }) => name)).toEqual(['KEPT']);
      await made(`PUT ${path}/variables`, { variables: { B: 'b', A: 'a', KEPT: 'new' } });
      expect((await list()).map(({ name, secret }) => [name, secret])).toEqual([
        ['A', false],
        ['B', false],
        ['KEPT', true],
      ]);
    });

    it('are one variable when twenty calls set one name at once', async () => {
      await Promise.all(Array.from({ length: 20 }, async (_, n) => await set('RACE', `${n}`)));
      expect(await list()).toHaveLength(1);
    });

    it.each([
      ['a name with a dash', { name: 'A-B', value: '' }],
      ['a name that begins with a digit', { name: '1A', value: '' }],
      ['a value beyond 65,536 bytes', { name: 'A', value: 'ä'.repeat(32_769) }],
      ['a value with U+0000', { name: 'A', value: 'a\u0000b', secret: true }],
    ])('refuse %s', async (_name, body) => {
      expect((await call(`POST ${path}/variables`, body)).status).toBe(400);
      expect(await list()).toEqual([]);
    });

    it('are deleted, under their name if one is given', async () => {
      const { id } = await set('GONE', 'x');
      expect((await call(`DELETE ${path}/variables/${id}?name=OTHER`)).status).toBe(404);
      expect((await call(`DELETE ${path}/variables/${id}?name=GONE`)).status).toBe(204);
      expect((await call(`DELETE ${path}/variables/${id}`)).status).toBe(404);
    });
  });

  describe('build steps', () => {
    const steps = async () => (await made(`GET ${path}/build-steps`, undefined))['buildSteps'] as BuildStep[];
    const commands = async () => (await steps()).map(({ command }) => command);

    it('keep their order without gaps', async () => {
      for (const command of ['a', 'b', 'c', 'd']) await made(`POST ${path}/build-steps`, { command });
      const [a, b, , d] = await steps();
      await made(`POST ${path}/build-steps/${d?.id}/move`, { direction: 'up' });
      await made(`POST ${path}/build-steps/${a?.id}/move`, { direction: 'up' });
      expect(await commands()).toEqual(['a', 'b', 'd', 'c']);
      await made(`POST ${path}/build-steps/${a?.id}/move`, { direction: 'down' });
      expect((await call(`DELETE ${path}/build-steps/${b?.id}`)).status).toBe(204);
      expect(await commands()).toEqual(['a', 'd', 'c']);
      expect((await steps()).map(({ position }) => position)).toEqual([1, 2, 3]);
    });

    it('are at most fifty, also when sixty come at once', async () => {
      const add = async (_: unknown, n: number) =>
        await call(`POST ${path}/build-steps`, { command: `c${n}` });
      const answers = await Promise.all(Array.from({ length: 60 }, add));
      expect(answers.filter(({ code }) => code === 'limit_reached')).toHaveLength(10);
      expect((await steps()).map(({ position }) => position)).toEqual(
        Array.from({ length: 50 }, (_, n) => n + 1),
      );
    });
  });

  describe('the environment', () => {
    it('takes a deploy target and gives it up', async () => {
      const set = await made(`PATCH ${path}`, {
        deploy: { kind: 'container' },
        deployApproval: true,
        submodules: true,
      });
      expect(set).toMatchObject({
        deploy: { kind: 'container', app: environmentId.replace('_', '-'), containerPort: 8080 },
        deployApproval: true,
        submodules: true,
        buildTimeoutSeconds: 3600,
        hasGitCredentials: false,
      });
      const gone = await made(`PATCH ${path}`, { deploy: { kind: 'none' }, buildTimeoutSeconds: 60 });
      expect(gone['deploy']).toBeUndefined();
      expect(gone).toMatchObject({ deployApproval: true, buildTimeoutSeconds: 60 });
    });

    it('says that it holds credentials for the repository, and nothing of them', async () => {
      const answer = await call(`PATCH ${path}`, { gitCredentials: { token: CANARY, sshKey: CANARY } });
      expect(answer.body).toMatchObject({ hasGitCredentials: true });
      const shown = await call(`GET ${path}`);
      const rows = await server.asOwner('select to_jsonb(e)::text as row from environments e');
      const ledger = await server.asOwner(
        `select details::text as details from audit_entries where action = 'environment.updated' order by seq desc limit 1`,
      );
      expect(`${answer.text}${shown.text}${JSON.stringify([rows, ledger])}`).not.toContain(CANARY);
      expect(JSON.stringify(ledger)).toContain('gitCredentials');
      expect((await call(`PATCH ${path}`, { gitCredentials: { username: 'only' } })).status).toBe(400);
      expect((await call(`PATCH ${path}`, { gitCredentials: {} })).body).toMatchObject({
        hasGitCredentials: false,
      });
    });
  });

  it('is not there for people of another team', async () => {
    const { id } = await set('MINE', 'x');
    const other = await stranger(server);
    for (const [route, body] of [
      [`GET ${path}/variables`, undefined],
      [`POST ${path}/variables`, { name: 'A', value: 'x' }],
      [`PUT ${path}/variables`, { variables: { A: 'x' } }],
      [`PATCH ${path}/variables/${id}`, { name: 'A', value: 'x' }],
      [`DELETE ${path}/variables/${id}`, undefined],
      [`GET ${path}/build-steps`, undefined],
      [`POST ${path}/build-steps`, { command: 'x' }],
    ] as const) {
      expect((await server.call(route, { as: other.token, body })).status, route).toBe(404);
    }
  });
});
