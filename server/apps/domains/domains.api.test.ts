/** These tests play domains on a team's own runners: names, what a runner is told, and what it says. */
import type { Domain, Environment, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FACTS } from '../../../test/e2e/independent-runner.ts';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { REPOSITORY } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';

import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { defaultWorkSettings } from '../../engine/work/settings.ts';
import { createSyncHost } from '../../engine/work/sync-host.ts';
import { domainsPart } from './serving.ts';

const EDGE = {
  driver: 'nginx',
  httpPort: 80,
  httpsPort: 443,
  addresses: ['203.0.113.7'],
  acmeDirectory: 'https://ca.acme.dev/dir',
  solvers: ['http-01'],
};
const CONTAINER = { kind: 'container' } as const;

describe.skipIf(!(await has('postgres')))('domains', () => {
  let w: World;
  let sdk: SvcSDK;
  let runner: ScriptedRunner;
  let environment: Environment;
  let count = 0;
  let name: string;

  const fresh = async (deploy: Partial<Environment['deploy']> | undefined = CONTAINER) => {
    count += 1;
    return await sdk.environments.create(w.projectId, {
      name: `e${count}`,
      repository: REPOSITORY,
      ...(deploy && { deploy: { ...CONTAINER, ...deploy, app: `app-${count}` } }),
    });
  };
  const edge = async (to: object | undefined, of = runner) => {
    const facts = { ...FACTS, host: to === undefined ? {} : { edge: to } };
    expect((await of.call('heartbeat', { facts })).status).toBe(200);
  };
  const deploy = async (of = environment, to = runner) => {
    await sdk.builds.create(of.id);
    await to.finish(await to.take());
  };
  const told = async (of = environment, to = runner) => {
    const { body } = await to.call('host', { have: {} });
    const apps = body['apps'] as ReadonlyArray<{
      environmentId: string;
      revision: number;
      domains?: unknown;
    }>;
    return apps.find(({ environmentId }) => environmentId === of.id);
  };
  /** The statement takes the words of a runner in the JSON of the contract. */
  const say = async (domains: ReadonlyArray<Record<string, unknown>>, to = runner, of = environment) => {
    const { sql } = w.server.db;
    const sync = createSyncHost(sql, defaultWorkSettings, () => [domainsPart]);
    const app = { environmentId: of.id, revision: 0, state: 'running', buildId: '', address: '', domains };
    await sync({ runnerId: to.runnerId, bootId: '', have: {}, observed: [app], removed: [] });
  };
  const one = async (of: Pick<Domain, 'id'>, at = environment): Promise<Domain> => {
    const found = (await sdk.domains.list(at.id)).find(({ id }) => id === of.id);
    if (found === undefined) throw new Error(`no domain ${of.id}`);
    return found;
  };
  const ledger = async (target: string): Promise<readonly string[]> => {
    const rows = await w.server.db.sql<Array<{ action: string }>>`
      select action from audit_entries where chain = ${w.teamId} and target = ${target} and action ~ 'domain|ssl' order by seq`;
    return rows.map(({ action }) => action);
  };

  beforeAll(async () => {
    w = await world();
    ({ sdk } = w);
    runner = await w.runner();
  });
  beforeEach(async () => {
    await edge(undefined);
    environment = await fresh();
    name = `d${count}.acme.dev`;
  });

  it('are added in one form, once, and listed by their names', async () => {
    const added = await sdk.domains.create(environment.id, `${name.toUpperCase()}.`);
    expect(added).toMatchObject({
      id: expect.stringMatching(/^dom_[0-9a-z]{26}$/) as string,
      environmentId: environment.id,
      name,
      displayName: name,
      state: 'pending_deploy',
      hint: 'it is served from the first deploy on',
      ssl: false,
    });
    expect(await sdk.domains.create(environment.id, name)).toEqual(added);
    const other = await sdk.domains.create(environment.id, `bücher${count}.acme.dev`);
    expect(other).toMatchObject({ displayName: `bücher${count}.acme.dev` });
    expect(other.name).toMatch(/^xn--bcher/);
    const wild = await sdk.domains.create(environment.id, `*.${name}`);
    expect(await sdk.domains.list(environment.id)).toEqual([wild, added, other]);
    await sdk.domains.delete(environment.id, added.id);
    expect(await refused(sdk.domains.delete(environment.id, added.id))).toBe('404 not_found');
    expect(await ledger(added.id)).toEqual(['domain.added', 'domain.removed']);
  });

  it.each([
    'acme.dev;return',
    'acme.dev{',
    'a\nb.acme.dev',
    '$host.acme.dev',
    'acme.dev/x',
    '127.1',
    '0x7f.1',
    '10.0.0.1',
    '[::1]',
    'acme',
    'ex_ample.dev',
    'localhost',
    'printer.local',
    'a.internal',
    'x.onion',
    '1.in-addr.arpa',
    'a.test',
    'app.example.com',
    '127.0.0.1',
  ])('are no %j', async (text) => {
    const call = sdk.domains.create(environment.id, text);
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason as { status: number; body: unknown },
    );
    expect(error).toMatchObject({
      status: 400,
      body: {
        error: { code: 'validation_failed', details: { fields: [{ field: 'domain', rule: 'host_name' }] } },
      },
    });
  });

  it('are at most 50 an environment and 500 a team', async () => {
    const { sql } = w.server.db;
    const stranger = await w.stranger();
    const { id: projectId } = await stranger.sdk.projects.create({ name: 'many', teamId: stranger.teamId });
    const at = await stranger.sdk.environments.create(projectId, { name: 'full' });
    const next = await stranger.sdk.environments.create(projectId, { name: 'next' });
    const add = async (of: string, n: number, from = 0) =>
      await sql`
        insert into domains (id, team_id, environment_id, name, display_name, pool_key, created_at)
        select 'dom_' || substr(md5(${of} || n), 1, 26), ${stranger.teamId}, ${of}, 'n' || n || '.acme.dev', '', '', now()
        from generate_series(${from}::int, ${from + n - 1}::int) n`;
    await add(at.id, 49);
    const answers = await Promise.all(
      [1, 2, 3].map(async (n) => await refused(stranger.sdk.domains.create(at.id, `m${n}.acme.dev`))),
    );
    expect(answers.toSorted()).toEqual(['409 limit_reached', '409 limit_reached', 'not refused']);
    await add(at.id, 450, 1_000);
    expect(await refused(stranger.sdk.domains.create(next.id, 'one.acme.dev'))).toBe('409 limit_reached');
  });

  it('go to one environment of those that have no machine, and of those on one runner', async () => {
    const others = [await fresh(), await fresh(), await fresh()];
    const answers = await Promise.all(
      [environment, ...others].map(async ({ id }) => await refused(sdk.domains.create(id, name))),
    );
    expect(answers.toSorted()).toEqual([...Array<string>(3).fill('409 name_taken'), 'not refused']);
    const [first, second] = [await fresh(), await fresh()];
    await deploy(first);
    await deploy(second);
    const racing = `race${count}.acme.dev`;
    const raced = await Promise.all(
      [first, second].map(async ({ id }) => await refused(sdk.domains.create(id, racing))),
    );
    expect(raced.toSorted()).toEqual(['409 name_taken', 'not refused']);
    // On another machine it is another name.
    const elsewhere = await w.runner();
    await sdk.runners.pause(w.teamId, runner.runnerId);
    const third = await fresh();
    await deploy(third, elsewhere);
    await sdk.runners.resume(w.teamId, runner.runnerId);
    expect(await refused(sdk.domains.create(third.id, racing))).toBe('not refused');
    await sdk.runners.revoke(w.teamId, elsewhere.runnerId);
  });

  it('of two environments that come to one machine are served for the one that was there', async () => {
    const holder = await fresh();
    await edge(EDGE);
    await deploy(holder);
    const held = await sdk.domains.create(holder.id, name);
    const late = await sdk.domains.create(environment.id, name);
    await deploy();
    expect(await one(late)).toMatchObject({
      state: 'conflicting',
      hint: expect.stringContaining('another environment of the team') as string,
    });
    expect(await told()).toMatchObject({ domains: [] });
    expect(await refused(sdk.domains.create(environment.id, name))).toBe('409 name_taken');
    await sdk.domains.delete(holder.id, held.id);
    const before = (await told())?.revision ?? 0;
    expect(await sdk.domains.create(environment.id, name)).toMatchObject({
      id: late.id,
      state: 'pending_deploy',
    });
    expect(await told()).toMatchObject({ revision: before + 1, domains: [{ name }] });
  });

  it('go with their environment to a machine, also when they are added at that moment', async () => {
    await edge(EDGE);
    await sdk.builds.create(environment.id);
    const offer = await runner.take();
    const added = Array.from({ length: 4 }, async (_none, n) =>
      sdk.domains.create(environment.id, `n${n}.${name}`),
    );
    await Promise.all([...added, runner.finish(offer)]);
    expect((await told())?.domains).toHaveLength(4);
  });

  it('are the operator’s where the runner has no edge, and are served once it has one', async () => {
    const added = await sdk.domains.create(environment.id, name);
    await deploy();
    expect(await one(added)).toMatchObject({
      state: 'external',
      address: 'http://10.0.0.7:32768',
      hint: expect.stringMatching(/--edge nginx.*http:\/\/10\.0\.0\.7:32768/) as string,
    });
    expect(await told()).toMatchObject({ domains: [] });
    const before = (await told())?.revision ?? 0;
    await edge(EDGE);
    expect(await told()).toMatchObject({ revision: before + 1, domains: [{ name }] });
    expect(await one(added)).toMatchObject({ state: 'pending_deploy' });
    // The same facts again change nothing; Dokku’s edge serves no containers.
    await edge({ ...EDGE, addresses: [] });
    expect(await told()).toMatchObject({ revision: before + 1 });
    await edge({ ...EDGE, driver: 'dokku' });
    expect(await one(added)).toMatchObject({ state: 'external' });
    expect(await told()).toMatchObject({ domains: [] });
  });

  it('have HTTPS where there is an edge, those that are added later too', async () => {
    const none = await sdk.environments.create(w.projectId, { name: `none${count}`, repository: REPOSITORY });
    expect(await refused(sdk.domains.enableSsl(none.id))).toBe('409 environment_incomplete');
    const { domains: early } = await sdk.domains.enableSsl(environment.id);
    expect(early).toEqual([]);
    expect(await sdk.domains.create(environment.id, name)).toMatchObject({ ssl: true });
    await sdk.domains.disableSsl(environment.id);
    await deploy();
    const error = await sdk.domains.enableSsl(environment.id).then(
      () => undefined,
      (reason: unknown) => reason as { code: string; message: string },
    );
    expect(error).toMatchObject({
      status: 409,
      code: 'edge_unavailable',
      message: expect.stringContaining('--edge nginx') as string,
    });
    await edge(EDGE);
    const before = (await told())?.revision ?? 0;
    await sdk.domains.enableSsl(environment.id);
    const { domains: on } = await sdk.domains.enableSsl(environment.id);
    expect(on).toMatchObject([{ name, ssl: true }]);
    expect(await told()).toMatchObject({ revision: before + 1, domains: [{ name, ssl: true }] });
    const later = await sdk.domains.create(environment.id, `later.${name}`);
    expect(later.ssl).toBe(true);
    await sdk.domains.disableSsl(environment.id);
    await sdk.domains.disableSsl(environment.id);
    expect(await told()).toMatchObject({ revision: before + 3, domains: [{ name }, { name: later.name }] });
    await sdk.domains.delete(environment.id, later.id);
    expect(await told()).toMatchObject({ revision: before + 4, domains: [{ name }] });
    const acts = ['enabled', 'disabled', 'enabled', 'disabled'].map((word) => `environment.ssl_${word}`);
    expect(await ledger(environment.id)).toEqual(acts);
    const dokku = await fresh({ kind: 'dokku' });
    await w.server.db.sql`
      insert into host_apps (environment_id, team_id, runner_id, kind, app, container_port)
      values (${dokku.id}, ${w.teamId}, ${runner.runnerId}, 'dokku', 'app', 80)`;
    expect(await refused(sdk.domains.enableSsl(dokku.id))).toBe('409 edge_unavailable');
    expect(await sdk.domains.create(dokku.id, `d.${name}`)).toMatchObject({ state: 'external' });
    await edge({ ...EDGE, driver: 'dokku', solvers: [] });
    expect(await told(dokku)).toMatchObject({ kind: 'dokku', domains: [{ name: `d.${name}` }] });
    const unissued = sdk.domains.enableSsl(dokku.id);
    expect(await refused(unissued)).toBe('409 edge_unavailable');
    expect(await unissued.then(String, String)).toContain('no plugin letsencrypt');
    await edge({ ...EDGE, driver: 'dokku' });
    expect(await sdk.domains.enableSsl(dokku.id)).toMatchObject({ domains: [{ ssl: true }] });
  });

  it('are shown as their runner says, and nobody else’s word counts', async () => {
    const added = await sdk.domains.create(environment.id, name);
    await edge(EDGE);
    await deploy();
    const wrong = {
      name,
      dnsState: 'wrong',
      dnsExpected: ['203.0.113.7'],
      dnsSeen: ['198.51.100.2'],
      certificateState: 'waiting_dns',
      problem: '',
    };
    const other = await w.runner();
    await say([wrong], other);
    expect(await one(added)).not.toHaveProperty('dns');
    await sdk.runners.revoke(w.teamId, other.runnerId);
    await say([wrong, { ...wrong, name: 'not-here.acme.dev' }]);
    expect(await one(added)).toMatchObject({
      state: 'active',
      hint: 'the name leads to 198.51.100.2, expected 203.0.113.7',
      dns: { state: 'wrong', expected: ['203.0.113.7'], seen: ['198.51.100.2'] },
      certificate: { state: 'waiting_dns' },
    });
    await say([
      {
        name,
        dnsState: 'ok',
        certificateState: 'failed',
        problem: 'the authority refused the name',
        nextAttemptAt: '2026-12-01T00:00:00Z',
        notAfter: '2026-11-30T00:00:00Z',
        serial: '0a',
      },
    ]);
    const failed = await one(added);
    expect(failed).toMatchObject({
      state: 'active',
      hint: 'the authority refused the name',
      dns: { state: 'ok' },
      certificate: {
        state: 'failed',
        nextAttemptAt: '2026-12-01T00:00:00Z',
        notAfter: '2026-11-30T00:00:00Z',
        serial: '0a',
      },
    });
    expect(failed.certificate).not.toHaveProperty('notBefore');
    await say([]);
    expect(await one(added)).toEqual(failed);
  });

  it('tell people of a certificate that fails, once until there is one again', async () => {
    await edge(EDGE);
    await deploy();
    await sdk.domains.create(environment.id, name);
    const all = async () =>
      (await sdk.notifications.list()).filter(({ kind }) => kind === 'certificate.failed');
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    /** Returns how often people were told up to now. */
    const told = async (certificateState: string, certificateFailures = 0, notAfter?: string) => {
      await say([
        { name, dnsState: 'ok', certificateState, certificateFailures, notAfter, problem: 'refused' },
      ]);
      await waitFor(
        'published events',
        async () => (await w.server.db.sql`select from outbox where kind = 'certificate.failed'`).count === 0,
      );
      return (await all()).length;
    };
    expect(await told('failed', 1)).toBe(0);
    expect(await told('failed', 2)).toBe(0);
    expect(await told('failed', 3)).toBe(1);
    expect(await told('issuing', 3)).toBe(1);
    expect(await told('failed', 4)).toBe(1);
    expect(await told('active', 0, inDays(60))).toBe(1);
    expect(await told('failed', 1, inDays(20))).toBe(1);
    expect(await told('renewing', 0, inDays(6))).toBe(1);
    expect(await told('failed', 1, inDays(6))).toBe(2);
    expect(await told('expired', 2, inDays(-1))).toBe(2);
    await told('active', 0, inDays(60));
    expect(await told('waiting_dns', 0, inDays(6))).toBe(3);
    expect((await all())[0]).toMatchObject({
      title: `No certificate is got for ${name}`,
      body: expect.stringContaining(`refused; svc domains check ${environment.id}`) as string,
    });
  });
});
