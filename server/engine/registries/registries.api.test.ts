/** Registries of a team over the real doors, and what a runner is told of them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { join, newKey, stranger } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { DIGEST, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';

const CANARY = 'canary-51c07be9d2';
const COMMIT = 'c'.repeat(40);

interface Shown {
  readonly id: string;
  readonly host: string;
  readonly default: boolean;
  readonly hasCredentials: boolean;
}

describe.skipIf(!(await has('postgres')))('registries', () => {
  const env = { LEASE_MS: '3600000', OFFER_MS: '3600000', INSECURE_REGISTRIES: 'Registry.internal:5000' };
  const own = ownServer({ env, inPerson: true });
  const { server, call, ok, made, operate } = own;
  let teamId: string;
  let path: string;
  let builds: string;
  let runner: ScriptedRunner;
  let names = 0;

  const add = async (host: string, more: object = {}): Promise<Shown> =>
    await ok<Shown>(`POST ${path}`, { host, ...more });
  const list = async (): Promise<readonly Shown[]> =>
    (await ok<{ registries: Shown[] }>(`GET ${path}`)).registries;
  const defaults = async (): Promise<readonly string[]> =>
    (await list()).filter((each) => each.default).map(({ host }) => host);
  const submit = async (): Promise<string> => await made(`POST ${builds}`, { commit: COMMIT });
  const remove = async (id: string) => await call(`DELETE ${path}/${id}`);

  beforeEach(async () => {
    teamId = await own.customer(`team ${(names += 1)}`);
    path = `/teams/${teamId}/registries`;
    builds = `/environments/${await own.environment(teamId)}/builds`;
    runner = await own.runner(teamId);
  });

  it('are where images go: the offer carries host, namespace and credentials, and nothing else shows them', async () => {
    const added = await add('Registry.Example.com', {
      namespace: 'acme/web',
      username: 'ci',
      password: CANARY,
    });
    expect(added).toMatchObject({
      host: 'registry.example.com',
      namespace: 'acme/web',
      default: true,
      hasCredentials: true,
      insecure: false,
    });
    expect(added.id).toMatch(/^rgy_[0-9a-z]{26}$/);
    await submit();
    const offer = await runner.take();
    expect(offer.image).toMatchObject({
      host: 'registry.example.com',
      namespace: 'acme/web',
      username: 'ci',
      password: CANARY,
    });
    expect(offer.image?.['insecure'] ?? false).toBe(false);
    await runner.finish(offer);

    const told = [added, await list(), await ok(`GET ${builds}`), await ok(`GET /teams/${teamId}/audit`)];
    expect(JSON.stringify(told)).toContain('registry.added');
    expect(JSON.stringify(told)).not.toContain(CANARY);
    const [row] = await server.db.sql`select r::text as whole from registries r where id = ${added.id}`;
    expect(String(row?.['whole'])).not.toContain(CANARY);
    // Bound to its row: copied to another, it opens nothing, and the build is not sent elsewhere either.
    const other = await add('other.example.com', { default: true, username: 'ci', password: 'x' });
    await server.db.sql`
      update registries set sealed = (select sealed from registries where id = ${added.id}) where id = ${other.id}`;
    await submit();
    await expect(runner.poll()).rejects.toThrow(/expected 500/);
  });

  it('default to the local registry of the service when there is none, before and after', async () => {
    const local = { host: '127.0.0.1:5000', namespace: teamId, insecure: true, username: teamId };
    await submit();
    const before = await runner.take();
    expect(before.image).toMatchObject(local);
    await runner.finish(before);
    const { id } = await add('registry.example.com');
    expect((await remove(id)).status).toBe(204);
    expect(await list()).toEqual([]);
    await submit();
    const after = await runner.take();
    expect(after.image).toMatchObject(local);
    // Each lease its own, and none of the registry that was.
    expect(after.image?.['password']).not.toEqual(before.image?.['password']);
  });

  it('have one default, which is the first, then the one that was last said to be, then the only one left', async () => {
    const first = await add('one.example.com');
    const second = await add('two.example.com');
    expect(await defaults()).toEqual(['one.example.com']);
    const third = await add('three.example.com', { default: true });
    expect(await defaults()).toEqual(['three.example.com']);
    expect((await remove(third.id)).status).toBe(204);
    expect(await defaults()).toEqual([]);
    expect((await remove(first.id)).status).toBe(204);
    expect(await list()).toMatchObject([{ id: second.id, default: true }]);
  });

  it('become the default, or cease to be, when somebody says so, and builds that are taken from then on go there', async () => {
    const first = await add('one.example.com', { namespace: 'a' });
    const second = await add('two.example.com');
    const change = async (id: string, wanted?: boolean) =>
      await ok<Shown>(`PATCH ${path}/${id}`, wanted === undefined ? {} : { default: wanted });
    const build = await submit();
    expect(await change(second.id, true)).toMatchObject({ id: second.id, default: true });
    expect(await defaults()).toEqual(['two.example.com']);
    expect(await change(first.id)).toMatchObject({ default: false });
    expect(await change(first.id, false)).toMatchObject({ default: false });
    expect(await defaults()).toEqual(['two.example.com']);
    // It may go by either: which one is decided when a runner takes it.
    expect((await remove(first.id)).body).toMatchObject({ error: { code: 'in_use' } });
    const offer = await runner.take();
    expect(offer).toMatchObject({ id: build, image: { host: 'two.example.com' } });
    await runner.finish(offer);
    expect(await change(second.id, false)).toMatchObject({ default: false });
    expect(await defaults()).toEqual([]);
    await submit();
    expect((await runner.take()).image).toMatchObject({ host: '127.0.0.1:5000' });
    const changes = (
      await ok<{ entries: Array<{ action: string; target: string }> }>(`GET /teams/${teamId}/audit?limit=50`)
    ).entries
      .filter(({ action }) => action === 'registry.updated')
      .map(({ target }) => target);
    expect(changes).toEqual([second.id, second.id]);
  });

  it('have one default also when ten are made the default at once', async () => {
    const added = [];
    for (let n = 0; n < 10; n += 1) added.push(await add(`r${n}.example.com`));
    const answers = await Promise.all(
      added.map(async ({ id }) => (await call(`PATCH ${path}/${id}`, { default: true })).status),
    );
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(await defaults()).toHaveLength(1);
  });

  it('have one default also when ten are added at once, and each is there once', async () => {
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        async (_, n) => await call(`POST ${path}`, { host: `r${n % 10}.example.com`, default: true }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 10 }, () => 201),
      ...Array.from({ length: 10 }, () => 409),
    ]);
    expect(new Set(answers.filter(({ status }) => status === 409).map(({ code }) => code))).toEqual(
      new Set(['name_taken']),
    );
    expect(await list()).toHaveLength(10);
    expect(await defaults()).toHaveLength(1);
  });

  it('are the same by host and namespace, however the host is written', async () => {
    const { id } = await add('docker.io', { namespace: 'acme' });
    const again = await call(`POST ${path}`, { host: 'INDEX.docker.io', namespace: 'acme' });
    expect(again).toMatchObject({
      status: 409,
      body: { error: { code: 'name_taken', details: { resource: 'registry', registryId: id } } },
    });
    expect(await add('docker.io', { namespace: 'acme2' })).toMatchObject({ default: false });
    expect(await add('docker.io')).not.toHaveProperty('namespace');
  });

  it('stay while a build goes by them, and go when it has ended', async () => {
    const used = await add('used.example.com');
    const idle = await add('idle.example.com');
    const build = await submit();
    const refused = await remove(used.id);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { code: 'in_use', details: { resource: 'registry', builds: [build] } } },
    });
    // Never was the default.
    expect((await remove(idle.id)).status).toBe(204);
    const offer = await runner.take();
    expect(offer.image).toMatchObject({ host: 'used.example.com' });
    // It pushes there still, whatever the default is by now.
    await add('next.example.com', { default: true });
    expect(await remove(used.id)).toMatchObject({ status: 409, code: 'in_use' });
    await runner.finish(offer);
    // A build that came after the change has nothing to do with it.
    await submit();
    expect((await remove(used.id)).status).toBe(204);
    expect((await runner.take()).image).toMatchObject({ host: 'next.example.com' });
  });

  describe('that are not the default any more', () => {
    /** Builds, publishes and deploys an image of this name. Its id. */
    const deployed = async (image: string): Promise<string> => {
      const id = await submit();
      await runner.finish(await runner.take(), { image });
      return id;
    };
    const rollBack = async (id: string): Promise<string> => await made(`POST ${builds}/${id}/rollback`, {});
    const use = async (body: object) => await ok(`PATCH ${builds.replace('/builds', '')}`, body);
    beforeEach(async () => void (await use({ deploy: { kind: 'container' } })));

    it('are what a rollback and an approved deploy pull from, with their own login', async () => {
      const login = (password: string) => ({ username: 'ci', password });
      await add('registry.internal:5000', { namespace: 'acme', insecure: true, ...login('of acme') });
      const first = await deployed('registry.internal:5000/acme/web.production');
      await use({ deployApproval: true });
      const waiting = await deployed('registry.internal:5000/acme/web.production');
      await add('registry.example.com', { default: true, ...login('of the default') });
      await add('registry.internal:5000', { namespace: 'acme/web', ...login('of acme/web') });
      await add('registry.internal:5000', { namespace: 'ac', ...login('of ac') });

      await ok(`POST ${builds}/${waiting}/deploy-approval`, { decision: 'approve' });
      const approved = await runner.take();
      expect(approved).toMatchObject({
        deployImage: `registry.internal:5000/acme/web.production@${DIGEST}`,
        image: { host: 'registry.internal:5000', insecure: true, ...login('of acme') },
      });
      await runner.finish(approved);
      await use({ deployApproval: false });
      await rollBack(first);
      const back = await runner.take();
      expect(back.image).toMatchObject({ namespace: 'acme', ...login('of acme') });
      await runner.finish(back);
      const deep = await deployed('registry.internal:5000/acme/web/production');
      await rollBack(deep);
      expect((await runner.take()).image).toMatchObject({ namespace: 'acme/web', ...login('of acme/web') });
    });

    it('are the local one too, and no other login goes to a host without one', async () => {
      const local = await deployed(`127.0.0.1:5000/${teamId}/web.production`);
      const foreign = await deployed('elsewhere.example.com/acme/web.production');
      await add('registry.example.com', { username: 'ci', password: CANARY });
      await add('127.0.0.1:5000', { namespace: 'acme', username: 'ci', password: CANARY });
      await rollBack(local);
      const offer = await runner.take();
      expect(offer.image).toMatchObject({ host: '127.0.0.1:5000', namespace: teamId, insecure: true });
      expect(JSON.stringify(offer)).not.toContain(CANARY);
      await runner.finish(offer);
      await rollBack(foreign);
      const other = await runner.take();
      expect(other).toMatchObject({ deployImage: `elsewhere.example.com/acme/web.production@${DIGEST}` });
      expect(other).not.toHaveProperty('image');
    });

    it('stay while a rollback pulls from them, and nothing else holds them', async () => {
      const old = await add('old.example.com', { namespace: 'acme', username: 'ci', password: 'x' });
      const neighbour = await add('old.example.com', { namespace: 'ac' });
      const first = await deployed('old.example.com/acme/web.production');
      await add('new.example.com', { default: true });
      const back = await rollBack(first);
      const refused = await remove(old.id);
      expect(refused).toMatchObject({ status: 409, code: 'in_use' });
      expect(refused.text).toContain(back);
      expect((await remove(neighbour.id)).status).toBe(204);
      await runner.finish(await runner.take());
      expect((await remove(old.id)).status).toBe(204);
    });
  });

  it('are refused when they cannot be meant, with the reason', async () => {
    const cases: ReadonlyArray<readonly [object, string]> = [
      [{ host: 'https://registry.example.com' }, 'without scheme'],
      [{ host: 'registry' }, 'one word'],
      [{ host: 'r.example.com', namespace: 'Acme' }, 'namespace'],
      [{ host: 'r.example.com', namespace: '../acme' }, 'namespace'],
      [{ host: 'r.example.com', username: 'ci' }, 'needs a password'],
      [{ host: 'r.example.com', password: CANARY }, 'needs a username'],
      [{ host: 'r.example.com', insecure: true }, 'INSECURE_REGISTRIES'],
      [{ host: 'registry.internal:5001', insecure: true }, 'INSECURE_REGISTRIES'],
    ];
    for (const [body, reason] of cases) {
      const { status, code, text } = await call(`POST ${path}`, body);
      expect([status, code], text).toEqual([400, 'validation_failed']);
      expect(text).toContain(reason);
      expect(text).not.toContain(CANARY);
    }
    expect(await add('registry.internal:5000', { insecure: true })).toMatchObject({ insecure: true });
    expect(await add('127.0.0.1:5000', { insecure: true })).toMatchObject({ insecure: true });
  });

  it("never point a team's builds at the machines of the service's own pool", async () => {
    await add('127.0.0.1:5000', { namespace: 'team_of_others', insecure: true });
    await operate(teamId, 'service');
    for (const host of ['127.0.0.1:5000', 'localhost:5000', '127.0.0.2:5000', '0.0.0.0:5000']) {
      const refused = await call(`POST ${path}`, { host, namespace: 'acme' });
      expect(refused).toMatchObject({ status: 400, code: 'validation_failed' });
      expect(refused.text).toContain("service's own pool");
    }
    // The one from before the move is not gone by: the image goes to the team's own place.
    const { createImageTargets } = await import('./image-targets.ts');
    const targets = createImageTargets({
      sql: server.db.sql,
      secrets: {
        open: () => {
          throw new Error('nothing is to be opened');
        },
      },
      localRegistry: '127.0.0.1:5000',
      insecureRegistries: [],
    });
    expect(await targets.targetFor(teamId, { id: 'env_any' })).toBeUndefined();
    expect(await targets.holderOf(teamId, '127.0.0.1:5000/team_of_others/web')).toBeUndefined();
  });

  it('are 50 at most', async () => {
    for (let n = 0; n < 50; n += 1) await add(`r${n}.example.com`);
    const refused = await call(`POST ${path}`, { host: 'one-more.example.com' });
    expect(refused).toMatchObject({ status: 409, code: 'limit_reached' });
    expect(await list()).toHaveLength(50);
  });

  it('are seen and changed by their team alone, and changed by those who manage its runners', async () => {
    const { id } = await add('registry.example.com');
    const other = await stranger(server);
    for (const [route, body] of [
      [`GET ${path}`, undefined],
      [`POST ${path}`, { host: 'x.example.com' }],
      [`PATCH ${path}/${id}`, { default: false }],
      [`PATCH /teams/${other.teamId}/registries/${id}`, { default: false }],
      [`DELETE ${path}/${id}`, undefined],
      [`DELETE /teams/${other.teamId}/registries/${id}`, undefined],
    ] as const)
      expect((await call(route, body, other.token)).status, route).toBe(404);
    for (const role of ['viewer', 'developer']) {
      const { token } = await join(server, own.key(), { teamId, role });
      expect((await call(`GET ${path}`, undefined, token)).status).toBe(200);
      expect((await call(`POST ${path}`, { host: 'x.example.com' }, token)).status).toBe(403);
      expect((await call(`PATCH ${path}/${id}`, { default: false }, token)).status).toBe(403);
      expect((await call(`DELETE ${path}/${id}`, undefined, token)).status).toBe(403);
    }
    const key = await newKey(server, own.key(), { scopes: ['runner:read'] });
    expect((await call(`GET ${path}`, undefined, key.secret)).status).toBe(200);
    expect((await call(`DELETE ${path}/${id}`, undefined, key.secret)).status).toBe(403);
    expect(await list()).toHaveLength(1);
  });
});
