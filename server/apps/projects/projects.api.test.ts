/** These tests call projects and environments over HTTP: slugs, pages, cursors. */
import type { Project, SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { stranger } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { world } from '../../../test/setup/world.ts';

describe.skipIf(!(await has('postgres')))('projects', () => {
  let server: TestServer;
  let as: string;
  let teamId: string;

  beforeAll(async () => {
    server = await startTestServer({ env: { LIMIT_ENVIRONMENTS_PER_PROJECT: '3' } });
    as = server.first.apiKey;
    teamId = server.first.teamId;
  });
  afterAll(async () => await server.stop());

  const call = async (route: string, body?: unknown) => await server.call(route, { as, body });
  const create = async (name: string): Promise<Project> => {
    const made = await call('POST /projects', { name, teamId });
    expect(made.status, made.text).toBe(201);
    return made.body as unknown as Project;
  };

  it('get the next free slug, also when many are made at once', async () => {
    const made = await Promise.all(Array.from({ length: 12 }, async () => await create('Same Name')));
    expect(made.map((project) => project.slug).sort()).toEqual(
      ['same-name', ...Array.from({ length: 11 }, (_, n) => `same-name-${n + 2}`)].sort(),
    );
  });

  it('are found by id and by slug', async () => {
    const project = await create('Find Me');
    expect((await call(`GET /projects/${project.id}`)).body).toEqual(project);
    expect((await call('GET /projects/find-me')).body).toEqual(project);
  });

  it('have slugs of their own team, and are asked for by id where two teams have one', async () => {
    const w = await world();
    const made = async (sdk: SvcSDK, ownTeamId: string) =>
      await sdk.projects.create({ name: 'Payments', teamId: ownTeamId });
    const other = await w.stranger();
    const [theirs, ours] = [await made(other.sdk, other.teamId), await made(w.sdk, w.teamId)];
    // Nothing tells that another team has it too.
    expect([theirs.slug, ours.slug]).toEqual(['payments', 'payments']);
    expect((await made(w.sdk, w.teamId)).slug).toBe('payments-2');
    expect((await w.sdk.projects.get('payments')).id).toBe(ours.id);
    expect((await other.sdk.projects.get('payments')).id).toBe(theirs.id);
    expect(await refused(other.sdk.projects.get('payments-2'))).toBe('404 not_found');

    const second = await w.sdk.teams.create('second');
    const also = await made(w.sdk, second.id);
    expect(also.slug).toBe('payments');
    await expect(w.sdk.projects.get('payments')).rejects.toMatchObject({
      status: 409,
      code: 'state_conflict',
      message: expect.stringMatching(new RegExp(`${ours.id}.*${also.id}|${also.id}.*${ours.id}`)),
    });
    expect((await w.sdk.projects.get(also.id)).teamId).toBe(second.id);
    const { secret } = await w.sdk.apiKeys.create('one team', {
      scopes: ['project:read'],
      teamId: second.id,
    });
    expect((await w.as(secret).projects.get('payments')).id).toBe(also.id);
  });

  it('cannot be named with a character that is not stored', async () => {
    const answer = await call('POST /projects', { name: 'nul \u0000', teamId });
    expect(answer.status).toBe(400);
  });

  describe('pages', () => {
    let person: Awaited<ReturnType<typeof stranger>>;
    const ids: string[] = [];

    beforeAll(async () => {
      person = await stranger(server);
      // All have the same instant, so that the id has to break the tie.
      await server.db.sql`
        insert into projects (id, team_id, name, slug, created_at)
        select 'prj_' || lpad(n::text, 26, '0'), ${person.teamId}, 'p', 'bulk-' || n, '2026-01-01T00:00:00Z' from generate_series(1, 123) n`;
      ids.push(...Array.from({ length: 123 }, (_, n) => `prj_${String(123 - n).padStart(26, '0')}`));
    });
    const page = async (query: string) => await server.call(`GET /projects${query}`, { as: person.token });
    const idsOf = (body: Record<string, unknown>): string[] =>
      (body['projects'] as Project[]).map((project) => project.id);

    it('hold 50 by default, newest first, and end without a cursor', async () => {
      const seen: string[] = [];
      const sizes: number[] = [];
      for (let cursor: string | undefined, more = true; more;) {
        const { body } = await page(cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`);
        seen.push(...idsOf(body));
        sizes.push(idsOf(body).length);
        cursor = body['nextCursor'] as string | undefined;
        more = cursor !== undefined;
      }
      expect(sizes).toEqual([50, 50, 23]);
      expect(seen).toEqual(ids);
    });

    it('end exactly where the rows end', async () => {
      const { body } = await page('?limit=123');
      expect(idsOf(body)).toHaveLength(123);
      expect(body).not.toHaveProperty('nextCursor');
    });

    it('miss and repeat nothing while rows come and go', async () => {
      const first = await page('?limit=10');
      await server.db.sql`delete from projects where id = ${ids[9] ?? ''}`;
      await server.call('POST /projects', {
        as: person.token,
        body: { name: 'newer', teamId: person.teamId },
      });
      const second = await page(`?limit=10&cursor=${encodeURIComponent(String(first.body['nextCursor']))}`);
      expect(idsOf(second.body)).toEqual(ids.slice(10, 20));
    });

    it('refuse a cursor that was changed, cut, or made for another list', async () => {
      const cursor = String((await page('?limit=10')).body['nextCursor']);
      const [payload = '', tag = ''] = cursor.split('.');
      const forged = Buffer.from(JSON.stringify(['2020-01-01T00:00:00Z', 'prj_0'])).toString('base64url');
      for (const bad of [
        'x',
        payload,
        `${payload}.`,
        `${forged}.${tag}`,
        `${cursor}x`,
        `${cursor}.${tag}`,
        cursor.slice(0, -1),
      ]) {
        const answer = await page(`?cursor=${encodeURIComponent(bad)}`);
        expect([answer.status, answer.code], bad).toEqual([400, 'validation_failed']);
      }
      expect((await page(`?teamId=${person.teamId}&cursor=${encodeURIComponent(cursor)}`)).status).toBe(400);
      expect((await call(`GET /projects?cursor=${encodeURIComponent(cursor)}`)).status).toBe(400);
    });

    it.each(['0', '201', '-1', 'many'])('refuse a limit of %s', async (limit) => {
      expect((await page(`?limit=${limit}`)).status).toBe(400);
    });
  });

  describe('environments', () => {
    it('have defaults, unique names and a limit', async () => {
      const project = await create('With Environments');
      const route = `POST /projects/${project.id}/environments`;
      const given = { name: 'prod', repository: 'https://example.com/a.git' };
      const defaults = { branch: 'main', buildPath: '.', buildType: 'auto' };
      expect((await call(route, given)).body).toMatchObject({ ...given, ...defaults });
      expect((await call(route, { name: 'prod' })).code).toBe('name_taken');
      const more = Array.from({ length: 6 }, async (_, n) => (await call(route, { name: `e${n}` })).status);
      const many = await Promise.all(more);
      expect(many.filter((status) => status === 201)).toHaveLength(2);
      expect((await call(route, { name: 'full' })).code).toBe('limit_reached');
      const list = await call(`GET /projects/${project.id}/environments`);
      expect(list.body['environments']).toHaveLength(3);
    });

    it('change only what is named, and go with their project', async () => {
      const project = await create('Changing');
      const given = { name: 'a', buildType: 'dockerfile' };
      const made = await call(`POST /projects/${project.id}/environments`, given);
      const id = String(made.body['id']);
      const changed = await call(`PATCH /environments/${id}`, { branch: 'next' });
      expect(changed.body).toMatchObject({ name: 'a', branch: 'next', buildType: 'dockerfile' });
      expect((await call(`DELETE /projects/${project.id}`)).status).toBe(204);
      expect((await call(`GET /environments/${id}`)).status).toBe(404);
    });

    it.each(['..', '../x', 'a/../../b', 'a\\..\\b', '/abs'])(
      'refuse the build path %s',
      async (buildPath) => {
        const project = await create('Paths');
        const route = `POST /projects/${project.id}/environments`;
        const answer = await call(route, { name: 'x', buildPath });
        expect([answer.status, answer.code]).toEqual([400, 'validation_failed']);
      },
    );
  });
});
