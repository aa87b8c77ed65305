/** Tests who may do what, over HTTP against the real server: credentials, tenants, scopes, roles, forgery. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { join, newKey, revokeKey, stranger, type Person } from '../../test/setup/people.ts';
import { startTestServer, type TestResponse, type TestServer } from '../../test/setup/server.ts';
import { formatKey, parseKey } from '../access/apikeys/key.ts';

const postgresHere = await has('postgres');

/** All of an answer but what differs for every call. */
function withoutRequestId(response: TestResponse): unknown {
  const volatile = new Set(['x-request-id', 'date', 'ratelimit']);
  const headers = [...response.headers].filter(([name]) => !volatile.has(name));
  return { status: response.status, headers, text: response.text.replace(/req_[0-9a-z]+/, 'req') };
}

describe.skipIf(!postgresHere)('access', () => {
  let server: TestServer;
  let owner: string;
  let teamId: string;
  let other: Person & { readonly teamId: string };

  beforeAll(async () => {
    server = await startTestServer();
    owner = server.first.apiKey;
    teamId = server.first.teamId;
    other = await stranger(server);
  });
  afterAll(async () => await server.stop());

  describe('another team’s', () => {
    it.each([
      ['team', 'GET /teams/{id}', 'team_00000000000000000000000000'],
      ['members', 'GET /teams/{id}/members', 'team_00000000000000000000000000'],
      ['runners', 'GET /teams/{id}/runners', 'team_00000000000000000000000000'],
      ['runs', 'GET /teams/{id}/sandbox-runs', 'team_00000000000000000000000000'],
    ])('%s look exactly like those of a team that does not exist', async (_what, route, missing) => {
      const theirs = await server.call(route.replace('{id}', teamId), { as: other.token });
      const none = await server.call(route.replace('{id}', missing), { as: other.token });
      expect(theirs.status).toBe(404);
      expect(withoutRequestId(theirs)).toEqual(withoutRequestId(none));
    });

    it('project and environment look exactly like missing ones, for every verb', async () => {
      const project = await server.call('POST /projects', { as: owner, body: { name: 'secret', teamId } });
      const projectId = String(project.body['id']);
      const environment = await server.call(`POST /projects/${projectId}/environments`, {
        as: owner,
        body: { name: 'prod' },
      });
      const environmentId = String(environment.body['id']);
      const pairs: ReadonlyArray<readonly [string, string, unknown?]> = [
        [`GET /projects/${projectId}`, 'GET /projects/prj_00000000000000000000000000'],
        [`GET /projects/${String(project.body['slug'])}`, 'GET /projects/no-such-slug'],
        [`DELETE /projects/${projectId}`, 'DELETE /projects/prj_00000000000000000000000000'],
        [
          `GET /projects/${projectId}/environments`,
          'GET /projects/prj_00000000000000000000000000/environments',
        ],
        [
          `POST /projects/${projectId}/environments`,
          'POST /projects/prj_00000000000000000000000000/environments',
          { name: 'x' },
        ],
        [`GET /environments/${environmentId}`, 'GET /environments/env_00000000000000000000000000'],
        [
          `PATCH /environments/${environmentId}`,
          'PATCH /environments/env_00000000000000000000000000',
          { name: 'x' },
        ],
        [`DELETE /environments/${environmentId}`, 'DELETE /environments/env_00000000000000000000000000'],
      ];
      for (const [theirs, none, body] of pairs) {
        const seen = await server.call(theirs, { as: other.token, body });
        expect(seen.status, theirs).toBe(404);
        expect(withoutRequestId(seen), theirs).toEqual(
          withoutRequestId(await server.call(none, { as: other.token, body })),
        );
      }
      expect((await server.call(`GET /environments/${environmentId}`, { as: owner })).status).toBe(200);
    });

    it('id in a body is refused like an unknown one', async () => {
      const theirs = await server.call('POST /projects', { as: other.token, body: { name: 'x', teamId } });
      const none = await server.call('POST /projects', {
        as: other.token,
        body: { name: 'x', teamId: 'team_0' },
      });
      expect(theirs.status).toBe(404);
      expect(withoutRequestId(theirs)).toEqual(withoutRequestId(none));
      expect((await server.call(`GET /projects?teamId=${teamId}`, { as: other.token })).status).toBe(404);
    });
  });

  describe('a credential', () => {
    it.each([
      ['nothing', undefined, 'credentials_missing'],
      ['garbage', 'garbage', 'credentials_invalid'],
      ['a session token that nobody has', `sest_${'A'.repeat(43)}`, 'credentials_invalid'],
      [
        'a well-formed key that nobody has',
        formatKey({ kid: 'A'.repeat(12), secret: 'B'.repeat(32) }),
        'credentials_invalid',
      ],
    ])('of %s is refused with 401', async (_what, as, code) => {
      const answer = await server.call('GET /teams', { as });
      expect([answer.status, answer.code]).toEqual([401, code]);
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    });

    it('with the right kid and a wrong secret is refused', async () => {
      const { kid } = parseKey(owner) ?? { kid: '' };
      expect(
        (await server.call('GET /teams', { as: formatKey({ kid, secret: 'B'.repeat(32) }) })).status,
      ).toBe(401);
    });

    it('sent twice, or as header and cookie, is refused', async () => {
      const raw = await rawRequest(server, [
        'GET /teams HTTP/1.1',
        `authorization: Bearer ${owner}`,
        `authorization: Bearer ${owner}`,
      ]);
      expect(raw).toContain('authorization is given twice');
      const both = await server.call('GET /teams', {
        as: owner,
        headers: { cookie: `__Host-sid=${other.token}` },
      });
      expect([both.status, both.code]).toEqual([401, 'credentials_invalid']);
    });

    it('of another scheme is refused', async () => {
      const answer = await server.call('GET /teams', { headers: { authorization: 'Basic dXNlcjpwYXNz' } });
      expect([answer.status, answer.code]).toEqual([401, 'credentials_invalid']);
    });

    it('that is an API key cannot act on the account itself', async () => {
      const answer = await server.call('PATCH /account/username', { as: owner, body: { username: 'abc' } });
      expect([answer.status, answer.code]).toEqual([403, 'session_required']);
    });
  });

  describe('an API key', () => {
    it('stops working at once when it is revoked, and revoking again changes nothing', async () => {
      const key = await newKey(server, owner);
      expect((await server.call('GET /teams', { as: key.secret })).status).toBe(200);
      expect((await revokeKey(server, owner, key.id)).status).toBe(204);
      expect((await server.call('GET /teams', { as: key.secret })).status).toBe(401);
      expect((await revokeKey(server, owner, key.id)).status).toBe(204);
    });

    it('stops working at another server within a second', async () => {
      const second = await startTestServer({ databaseUrl: server.databaseUrl, dataDir: server.dataDir });
      try {
        const key = await newKey(server, owner);
        expect((await second.call('GET /teams', { as: key.secret })).status).toBe(200);
        await revokeKey(server, owner, key.id);
        const endMs = performance.now() + 1_000;
        let status = 200;
        while (status !== 401 && performance.now() < endMs)
          status = (await second.call('GET /teams', { as: key.secret })).status;
        expect(status).toBe(401);
      } finally {
        await second.stop();
      }
    });

    it('is limited to its scopes: 403 names the missing one', async () => {
      const key = await newKey(server, owner, { scopes: ['project:read'] });
      expect((await server.call('GET /projects', { as: key.secret })).status).toBe(200);
      const write = await server.call('POST /projects', { as: key.secret, body: { name: 'x', teamId } });
      expect([write.status, write.code]).toEqual([403, 'scope_missing']);
      expect(write.text).toContain('project:write');
      expect((await server.call(`GET /teams/${teamId}/runners`, { as: key.secret })).code).toBe(
        'scope_missing',
      );
    });

    it('without the scope is refused before its body is read, by every door', async () => {
      const { secret: poor } = await newKey(server, owner, { scopes: ['ci:read'] });
      const rest = await server.call(`POST /teams/${teamId}/sandbox-runs`, {
        as: poor,
        body: { command: 7, nonsense: [] },
      });
      expect([rest.status, rest.code]).toEqual([403, 'scope_missing']);
      for (const type of ['application/json', 'application/proto', 'application/grpc-web+proto']) {
        const answer = await fetch(`${server.baseUrl}/svc.sandboxruns.v1.SandboxRunsService/Create`, {
          method: 'POST',
          headers: { authorization: `Bearer ${poor}`, 'content-type': type },
          body: '{{{',
        });
        expect(answer.headers.get('x-error-code') ?? (await answer.text()), type).toContain('scope_missing');
      }
    });

    it('narrowed to a team sees that team alone and founds no other', async () => {
      const mine = await server.call('POST /teams', { as: owner, body: { name: 'second' } });
      const key = await newKey(server, owner, { teamId });
      const teams = await server.call('GET /teams', { as: key.secret });
      expect((teams.body['teams'] as Array<{ id: string }>).map((team) => team.id)).toEqual([teamId]);
      expect((await server.call(`GET /teams/${String(mine.body['id'])}`, { as: key.secret })).status).toBe(
        404,
      );
      expect((await server.call('POST /teams', { as: key.secret, body: { name: 'third' } })).status).toBe(
        403,
      );
    });

    it('loses what its owner’s role loses, at once', async () => {
      const person = await join(server, owner, { teamId, role: 'developer' });
      const key = await newKey(server, person.token);
      expect(
        (await server.call('POST /projects', { as: key.secret, body: { name: 'mine', teamId } })).status,
      ).toBe(201);
      await server.call(`PATCH /teams/${teamId}/members/${person.userId}`, {
        as: owner,
        body: { role: 'viewer' },
      });
      const denied = await server.call('POST /projects', { as: key.secret, body: { name: 'mine', teamId } });
      expect([denied.status, denied.code]).toEqual([403, 'role_insufficient']);
      await server.call(`DELETE /teams/${teamId}/members/${person.userId}`, { as: owner });
      expect((await server.call(`GET /teams/${teamId}`, { as: key.secret })).status).toBe(404);
    });

    it('is listed without its secret, newest first', async () => {
      const key = await newKey(server, other.token, {
        name: 'listed',
        scopes: ['team:read'],
        expiresInDays: 1,
      });
      const { body, text } = await server.call('GET /api-keys', { as: other.token });
      expect(text).not.toContain(key.secret.slice(-20));
      expect((body['apiKeys'] as unknown[])[0]).toMatchObject({
        id: key.id,
        name: 'listed',
        prefix: key.secret.slice(0, 21),
        scopes: ['team:read'],
      });
    });

    it('of somebody else cannot be revoked', async () => {
      const key = await newKey(server, owner);
      expect((await server.call(`DELETE /api-keys/${key.id}`, { as: other.token })).status).toBe(404);
      expect((await server.call('GET /teams', { as: key.secret })).status).toBe(200);
    });
  });

  describe('a role', () => {
    it('grants what its rank grants', async () => {
      const allowed: Record<string, number[]> = {};
      for (const role of ['viewer', 'developer', 'admin', 'owner']) {
        const { token } = await join(server, owner, { teamId, role });
        const project = await server.call('POST /projects', { as: token, body: { name: role, teamId } });
        allowed[role] = [
          (await server.call(`GET /teams/${teamId}/runners`, { as: token })).status,
          project.status,
          (await server.call(`POST /teams/${teamId}/runners/enroll-tokens`, { as: token, body: {} })).status,
          (await server.call(`GET /teams/${teamId}/invites`, { as: token })).status,
          project.status === 201
            ? (await server.call(`DELETE /projects/${String(project.body['id'])}`, { as: token })).status
            : 0,
          (
            await server.call(`POST /teams/${teamId}/runners/rnr_none/clear-divergence-flag`, {
              as: token,
              body: {},
            })
          ).status,
        ];
      }
      expect(allowed).toEqual({
        viewer: [200, 403, 403, 403, 0, 403],
        developer: [200, 201, 403, 403, 403, 403],
        admin: [200, 201, 201, 200, 204, 403],
        owner: [200, 201, 201, 200, 204, 404], // owners alone get as far as the missing runner
      });
    });

    it('of staff opens platform calls and no other team', async () => {
      const { body } = await server.call('GET /regions', { as: owner });
      const regions = body['regions'] as Array<{ id: string; operator: string }>;
      const customer = regions.find((region) => region.operator === 'customer')?.id;
      const route = `PUT /admin/teams/${other.teamId}/region`;
      expect((await server.call(route, { as: other.token, body: { regionId: customer } })).code).toBe(
        'scope_missing',
      );
      expect((await server.call(route, { as: owner, body: { regionId: customer } })).code).toBe(
        'scope_missing',
      );
      const set = await server.call(route, { as: server.first.staffApiKey, body: { regionId: customer } });
      expect(set.status, set.text).toBe(200);
      expect(set.body).toMatchObject({ id: other.teamId, operator: 'customer' });
      expect(set.body).not.toHaveProperty('role');
      expect((await server.call(`GET /teams/${other.teamId}`, { as: server.first.staffApiKey })).status).toBe(
        404,
      );
      expect(
        (await server.call(route, { as: server.first.staffApiKey, body: { regionId: 'reg_x' } })).code,
      ).toBe('region_unknown');
      expect(
        (
          await server.call('PUT /admin/teams/team_x/region', {
            as: server.first.staffApiKey,
            body: { regionId: customer },
          })
        ).status,
      ).toBe(404);
    });
  });

  describe('a session cookie', () => {
    const cookie = (): Record<string, string> => ({ cookie: `__Host-sid=${other.token}` });

    it('is set for browsers, out of reach of scripts', async () => {
      const answer = await server.call('POST /auth/login', {
        body: { email: other.email, password: other.password },
        headers: { 'sec-fetch-site': 'same-origin' },
      });
      expect(answer.headers.get('set-cookie')).toMatch(
        /^__Host-sid=sest_[\w-]{43}; Path=\/; Max-Age=604800; Secure; HttpOnly; SameSite=Lax$/,
      );
      const program = await server.call('POST /auth/login', {
        body: { email: other.email, password: other.password },
      });
      expect(program.headers.get('set-cookie')).toBeNull();
    });

    it('reads', async () => {
      expect((await server.call('GET /teams', { headers: cookie() })).status).toBe(200);
    });

    it('writes only from a page of this server', async () => {
      const write = async (headers: Record<string, string>) =>
        (
          await server.call('POST /projects', {
            body: { name: 'x', teamId: other.teamId },
            headers: { ...cookie(), ...headers },
          })
        ).code ?? 'done';
      expect(await write({})).toBe('csrf_refused');
      expect(await write({ 'sec-fetch-site': 'cross-site' })).toBe('csrf_refused');
      expect(await write({ 'sec-fetch-site': 'same-site' })).toBe('csrf_refused');
      expect(await write({ 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' })).toBe(
        'csrf_refused',
      );
      expect(await write({ 'sec-fetch-site': 'same-origin', origin: server.baseUrl })).toBe('done');
    });
  });
});

/** Whatever the server answers to a head that fetch would not send. */
async function rawRequest(server: TestServer, head: readonly string[]): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () =>
      socket.write([...head, 'host: x', 'connection: close', '', ''].join('\r\n')),
    );
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => resolve(text)).on('error', reject);
  });
}
