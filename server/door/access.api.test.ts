/** Tests who may do what, over HTTP against the real server: credentials, tenants, scopes, roles, forgery. */
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { join, newKey, revokeKey, stranger, type Person } from '../../test/setup/people.ts';
import { useServer, withServer } from '../../test/setup/use-server.ts';
import type { TestResponse, TestServer } from '../../test/setup/server.ts';
import { formatKey, parseKey } from '../access/apikeys/key.ts';

const postgresHere = await has('postgres');

/** All of an answer but what differs for every call. */
function withoutRequestId(response: TestResponse): unknown {
  const volatile = new Set(['x-request-id', 'date', 'ratelimit']);
  const headers = [...response.headers].filter(([name]) => !volatile.has(name));
  return { status: response.status, headers, text: response.text.replace(/req_[0-9a-z]+/, 'req') };
}

describe.skipIf(!postgresHere)('access', () => {
  const { server, call, codeOf, outcomeOf, statusOf } = useServer();
  let owner: string;
  let teamId: string;
  let other: Person & { readonly teamId: string };

  beforeAll(async () => {
    owner = server.first.apiKey;
    teamId = server.first.teamId;
    other = await stranger(server);
  });

  describe('another team’s', () => {
    it.each([
      ['team', 'GET /teams/{id}', 'team_00000000000000000000000000'],
      ['members', 'GET /teams/{id}/members', 'team_00000000000000000000000000'],
      ['runners', 'GET /teams/{id}/runners', 'team_00000000000000000000000000'],
      ['runs', 'GET /teams/{id}/sandbox-runs', 'team_00000000000000000000000000'],
    ])('%s look exactly like those of a team that does not exist', async (_what, route, missing) => {
      const theirs = await call(other.token, route.replace('{id}', teamId));
      const none = await call(other.token, route.replace('{id}', missing));
      expect(theirs.status).toBe(404);
      expect(withoutRequestId(theirs)).toEqual(withoutRequestId(none));
    });

    it('project and environment look exactly like missing ones, for every verb', async () => {
      const project = await call(owner, 'POST /projects', { name: 'secret', teamId });
      const projectId = String(project.body['id']);
      const environment = await call(owner, `POST /projects/${projectId}/environments`, { name: 'prod' });
      const environmentId = String(environment.body['id']);
      const noProject = 'prj_00000000000000000000000000';
      const noEnvironment = 'env_00000000000000000000000000';
      const routes: ReadonlyArray<readonly [route: string, theirs: string, none: string, body?: unknown]> = [
        ['GET /projects/{id}', projectId, noProject],
        ['GET /projects/{id}', String(project.body['slug']), 'no-such-slug'],
        ['DELETE /projects/{id}', projectId, noProject],
        ['GET /projects/{id}/environments', projectId, noProject],
        ['POST /projects/{id}/environments', projectId, noProject, { name: 'x' }],
        ['GET /environments/{id}', environmentId, noEnvironment],
        ['PATCH /environments/{id}', environmentId, noEnvironment, { name: 'x' }],
        ['DELETE /environments/{id}', environmentId, noEnvironment],
      ];
      for (const [route, theirs, none, body] of routes) {
        const seen = await call(other.token, route.replace('{id}', theirs), body);
        const missing = await call(other.token, route.replace('{id}', none), body);
        expect(seen.status, route).toBe(404);
        expect(withoutRequestId(seen), route).toEqual(withoutRequestId(missing));
      }
      expect(await statusOf(owner, `GET /environments/${environmentId}`)).toBe(200);
    });

    it('id in a body is refused like an unknown one', async () => {
      const theirs = await call(other.token, 'POST /projects', { name: 'x', teamId });
      const none = await call(other.token, 'POST /projects', { name: 'x', teamId: 'team_0' });
      expect(theirs.status).toBe(404);
      expect(withoutRequestId(theirs)).toEqual(withoutRequestId(none));
      expect(await statusOf(other.token, `GET /projects?teamId=${teamId}`)).toBe(404);
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
      const answer = await call(as, 'GET /teams');
      expect([answer.status, answer.code]).toEqual([401, code]);
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    });

    it('with the right kid and a wrong secret is refused', async () => {
      const { kid } = parseKey(owner) ?? { kid: '' };
      expect(await statusOf(formatKey({ kid, secret: 'B'.repeat(32) }), 'GET /teams')).toBe(401);
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
      expect(await outcomeOf(owner, 'PATCH /account/username', { username: 'abc' })).toBe(
        '403 session_required',
      );
    });
  });

  describe('an API key', () => {
    it('stops working at once when it is revoked, and revoking again changes nothing', async () => {
      const key = await newKey(server, owner);
      expect(await statusOf(key.secret, 'GET /teams')).toBe(200);
      expect((await revokeKey(server, owner, key.id)).status).toBe(204);
      expect(await statusOf(key.secret, 'GET /teams')).toBe(401);
      expect((await revokeKey(server, owner, key.id)).status).toBe(204);
    });

    it('stops working at another server within a second', async () => {
      await withServer({ databaseUrl: server.databaseUrl, dataDir: server.dataDir }, async (second) => {
        const key = await newKey(server, owner);
        expect((await second.call('GET /teams', { as: key.secret })).status).toBe(200);
        await revokeKey(server, owner, key.id);
        const endMs = performance.now() + 1_000;
        let status = 200;
        while (status !== 401 && performance.now() < endMs)
          status = (await second.call('GET /teams', { as: key.secret })).status;
        expect(status).toBe(401);
      });
    });

    it('is limited to its scopes: 403 names the missing one', async () => {
      const key = await newKey(server, owner, { scopes: ['project:read'] });
      expect(await statusOf(key.secret, 'GET /projects')).toBe(200);
      const write = await call(key.secret, 'POST /projects', { name: 'x', teamId });
      expect([write.status, write.code]).toEqual([403, 'scope_missing']);
      expect(write.text).toContain('project:write');
      expect(await codeOf(key.secret, `GET /teams/${teamId}/runners`)).toBe('scope_missing');
    });

    it('without the scope is refused before its body is read, by every door', async () => {
      const { secret: poor } = await newKey(server, owner, { scopes: ['ci:read'] });
      expect(await outcomeOf(poor, `POST /teams/${teamId}/sandbox-runs`, { command: 7, nonsense: [] })).toBe(
        '403 scope_missing',
      );
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
      const mine = await call(owner, 'POST /teams', { name: 'second' });
      const key = await newKey(server, owner, { teamId });
      const teams = await call(key.secret, 'GET /teams');
      expect((teams.body['teams'] as Array<{ id: string }>).map((team) => team.id)).toEqual([teamId]);
      expect(await statusOf(key.secret, `GET /teams/${String(mine.body['id'])}`)).toBe(404);
      expect(await statusOf(key.secret, 'POST /teams', { name: 'third' })).toBe(403);
    });

    it('loses what its owner’s role loses, at once', async () => {
      const person = await join(server, owner, { teamId, role: 'developer' });
      const key = await newKey(server, person.token);
      expect(await statusOf(key.secret, 'POST /projects', { name: 'mine', teamId })).toBe(201);
      await call(owner, `PATCH /teams/${teamId}/members/${person.userId}`, { role: 'viewer' });
      expect(await outcomeOf(key.secret, 'POST /projects', { name: 'mine', teamId })).toBe(
        '403 role_insufficient',
      );
      await call(owner, `DELETE /teams/${teamId}/members/${person.userId}`);
      expect(await statusOf(key.secret, `GET /teams/${teamId}`)).toBe(404);
    });

    it('is listed without its secret, newest first', async () => {
      const key = await newKey(server, other.token, {
        name: 'listed',
        scopes: ['team:read'],
        expiresInDays: 1,
      });
      const { body, text } = await call(other.token, 'GET /api-keys');
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
      expect(await statusOf(other.token, `DELETE /api-keys/${key.id}`)).toBe(404);
      expect(await statusOf(key.secret, 'GET /teams')).toBe(200);
    });
  });

  describe('a role', () => {
    it('grants what its rank grants', async () => {
      const allowed: Record<string, number[]> = {};
      for (const role of ['viewer', 'developer', 'admin', 'owner']) {
        const { token } = await join(server, owner, { teamId, role });
        const project = await call(token, 'POST /projects', { name: role, teamId });
        allowed[role] = [
          await statusOf(token, `GET /teams/${teamId}/runners`),
          project.status,
          await statusOf(token, `POST /teams/${teamId}/runners/enroll-tokens`, {}),
          await statusOf(token, `GET /teams/${teamId}/invites`),
          project.status === 201
            ? await statusOf(token, `DELETE /projects/${String(project.body['id'])}`)
            : 0,
          await statusOf(token, `POST /teams/${teamId}/runners/rnr_none/clear-divergence-flag`, {}),
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
      const { body } = await call(owner, 'GET /regions');
      const regions = body['regions'] as Array<{ id: string; operator: string }>;
      const customer = regions.find((region) => region.operator === 'customer')?.id;
      const route = `PUT /admin/teams/${other.teamId}/region`;
      expect(await codeOf(other.token, route, { regionId: customer })).toBe('scope_missing');
      expect(await codeOf(owner, route, { regionId: customer })).toBe('scope_missing');
      const set = await call(server.first.staffApiKey, route, { regionId: customer });
      expect(set.status, set.text).toBe(200);
      expect(set.body).toMatchObject({ id: other.teamId, operator: 'customer' });
      expect(set.body).not.toHaveProperty('role');
      expect(await statusOf(server.first.staffApiKey, `GET /teams/${other.teamId}`)).toBe(404);
      expect(await codeOf(server.first.staffApiKey, route, { regionId: 'reg_x' })).toBe('region_unknown');
      expect(
        await statusOf(server.first.staffApiKey, 'PUT /admin/teams/team_x/region', { regionId: customer }),
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
