/**
 * These tests show who may set tokens of repositories' hosts, where they may go, and that nobody sees them
 * again.
 */
import { describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { stranger } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { createLog } from '@svc/proto/process/log.ts';
import { createSecrets, loadKek } from '../../base/secrets.ts';
import { readConnection } from './rows.ts';
import { openToken } from '../providers/forges/forge.ts';

/** Looked for everywhere. */
const CANARY = 'ghp_canary4f1d0c2ab9';

describe.skipIf(!(await has('postgres')))('tokens of connections', () => {
  const logged: string[] = [];
  const answers: string[] = [];
  const log = createLog({ level: 'trace', write: (line) => void logged.push(line) });
  const own = ownServer({ env: { SVC_ROLES: 'api' }, log });
  const { server } = own;

  const call: typeof own.call = async (...request) => {
    const answer = await own.call(...request);
    answers.push(answer.text);
    return answer;
  };
  let made = 0;
  const connected = async (more: object = {}): Promise<string> => {
    made += 1;
    const repository = { repositoryHost: 'github.com', repositoryPath: `acme/app-${made}` };
    const body = { provider: 'github', ...repository, ...more };
    const answer = await call(`POST /teams/${server.first.teamId}/ci/connections`, body);
    expect(answer.status, answer.text).toBe(201);
    return String(answer.body['id']);
  };

  const setToken = async (id: string, body: object) => await call(`PUT /ci/connections/${id}/token`, body);
  const shown = async (id: string) => (await call(`GET /ci/connections/${id}`)).body;

  it('are stored sealed, opened for their own connection alone, and never shown', async () => {
    const id = await connected({ ingestMode: 'both' });
    expect((await shown(id))['hasToken']).toBe(false);
    const set = await setToken(id, { token: CANARY });
    expect(set.status, set.text).toBe(200);
    expect(set.body).toMatchObject({ id, hasToken: true, forge: 'github' });
    for (const route of [
      `GET /ci/connections/${id}`,
      `GET /teams/${server.first.teamId}/ci/connections`,
      `GET /ci/connections/${id}/webhook`,
      `GET /teams/${server.first.teamId}/audit`,
    ])
      await call(route);

    const secrets = createSecrets(loadKek(undefined, server.dataDir));
    const stored = await readConnection(server.db, id);
    expect(openToken(secrets, stored!)).toBe(CANARY);
    const elsewhere = await connected();
    expect(() => openToken(secrets, { id: elsewhere, token: stored!.token })).toThrow();

    expect(answers.join('\n')).not.toContain(CANARY);
    expect(logged.join('\n')).not.toContain(CANARY);
    expect(await tablesWith(CANARY)).toEqual([]);
    // What is looked for can be found.
    expect(await tablesWith(id)).toEqual(expect.arrayContaining(['ci_connections', 'audit_entries', 'jobs']));
  });

  /** Tables with a row that holds the text in any column, also inside of JSON and bytes. */
  async function tablesWith(text: string): Promise<readonly string[]> {
    const tables = await server.asOwner(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    const hex = Buffer.from(text).toString('hex');
    const found = [];
    for (const { name } of tables) {
      const rows = await server.asOwner(
        `select 1 from ${String(name)} t where t::text like '%${text}%' or t::text like '%${hex}%' limit 1`,
      );
      if (rows.length > 0) found.push(String(name));
    }
    return found;
  }

  it('are forgotten when they are deleted, twice too', async () => {
    const id = await connected();
    await setToken(id, { token: CANARY });
    expect((await call(`DELETE /ci/connections/${id}/token`)).status).toBe(204);
    expect((await call(`DELETE /ci/connections/${id}/token`)).status).toBe(204);
    expect((await shown(id))['hasToken']).toBe(false);
    expect((await readConnection(server.db, id))?.token).toBeNull();
  });

  it('are in the ledger by what was done, not by what they are', async () => {
    const id = await connected();
    await setToken(id, {
      token: CANARY,
      apiUrl: 'https://git.example.com/api/v3',
    });
    await call(`DELETE /ci/connections/${id}/token`);
    const { body } = await call(`GET /teams/${server.first.teamId}/audit?limit=200`);
    const acts = (body['entries'] as Array<Record<string, unknown>>).filter(({ target }) => target === id);
    expect(acts.map(({ action }) => String(action)).toSorted()).toEqual([
      'ci_connection.created',
      'ci_connection.token_deleted',
      'ci_connection.token_set',
    ]);
    const set = acts.find(({ action }) => action === 'ci_connection.token_set');
    expect(JSON.stringify(set)).toContain('https://git.example.com/api/v3');
  });

  it('need the kind of a host that neither its name nor its CI system tells', async () => {
    const id = await connected({ provider: 'jenkins', repositoryHost: 'git.example.com' });
    const refused = await setToken(id, { token: CANARY });
    expect(refused).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(refused.text).toContain('what git.example.com is cannot be told from its name');
    expect(await shown(id)).toMatchObject({ hasToken: false });
    const set = await setToken(id, { token: CANARY, forge: 'gitlab' });
    expect(set.body).toMatchObject({ hasToken: true, forge: 'gitlab' });
    const known = await connected({ provider: 'jenkins', repositoryHost: 'bitbucket.org' });
    expect((await setToken(known, { token: CANARY })).body['forge']).toBe('bitbucket');
  });

  it.each([
    'http://git.example.com/api',
    'https://127.0.0.1/api',
    'https://10.1.2.3',
    'https://[::1]/api',
    'https://[fd00::1]',
    'https://169.254.169.254/latest',
    'https://localhost/api',
    'https://git.internal:6443/api',
    'https://user:password@git.example.com',
    'https://gitlab/api',
    'https://2130706433/api',
  ])('go to no address such as %s', async (apiUrl) => {
    const id = await connected();
    const refused = await setToken(id, { token: CANARY, apiUrl });
    expect(refused).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(await shown(id)).toMatchObject({ hasToken: false });
  });

  it('never go to an address that came with an older one', async () => {
    const id = await connected();
    await setToken(id, {
      token: 'an-old-token',
      apiUrl: 'https://other.example.com/api',
    });
    const set = await setToken(id, { token: CANARY });
    expect(set.body).not.toHaveProperty('apiUrl');
    expect((await readConnection(server.db, id))?.apiUrl).toBeNull();
  });

  it.each(['', 'two words', 'line\nbreak', 'ü', 'x'.repeat(4_097)])(
    'are refused when they are %j',
    async (token) => {
      const id = await connected();
      expect(await setToken(id, { token })).toMatchObject({ status: 400 });
    },
  );

  it('of another team cannot be set, nor deleted', async () => {
    const id = await connected();
    await setToken(id, { token: 'ours' });
    const before = (await readConnection(server.db, id))?.token;
    const { token } = await stranger(server);
    expect((await call(`PUT /ci/connections/${id}/token`, { token: CANARY }, token)).status).toBe(404);
    expect((await call(`DELETE /ci/connections/${id}/token`, undefined, token)).status).toBe(404);
    expect((await readConnection(server.db, id))?.token).toBe(before);
  });
});
