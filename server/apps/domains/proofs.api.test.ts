/** Domains on the service's own machines are served for the team that has proved the name. */
import { createSvcSDK, type Domain, type Environment, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FACTS } from '../../../test/e2e/independent-runner.ts';
import { scriptedRunner, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { REPOSITORY } from '../../../test/setup/delivery/goods.ts';
import { startDnsServer, type DnsServer } from '../../../test/setup/dns-server.ts';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, stranger } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { systemClock } from '../../base/clock.ts';
import { systemScope } from '../../kit/authorise.ts';
import { holdPlace } from './facts.ts';

const everythingHere = (await has('postgres')) && (await has('dnsmasq'));
const PAUSE_MS = 10_000;

interface Team {
  readonly sdk: SvcSDK;
  readonly teamId: string;
  readonly environment: Environment;
}

describe.skipIf(!everythingHere)('domains on the service’s machines', () => {
  let names: DnsServer;
  let server: TestServer;
  let runner: ScriptedRunner;
  let aheadMs = 0;
  let count = 0;
  let domain: string;
  let name: string;
  let ours: Team;
  let theirs: Team;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  /** A team with an environment that is deployed. */
  const team = async (): Promise<Team> => {
    const { token, teamId } = await stranger(server);
    const sdk = sdkOf(token);
    const { id } = await sdk.projects.create({ name: 'web', teamId });
    const environment = await sdk.environments.create(id, {
      name: 'production',
      repository: REPOSITORY,
      deploy: { kind: 'container' },
    });
    await sdk.builds.create(environment.id);
    await runner.finish(await runner.take());
    return { sdk, teamId, environment };
  };
  const publish = async (...of: readonly Domain[]) => {
    const records: Record<string, string[]> = {};
    for (const { recordName = '', recordValue = '' } of of) (records[recordName] ??= []).push(recordValue);
    await names.set(records);
  };
  const add = async ({ sdk, environment }: Team, text = name) =>
    await sdk.domains.create(environment.id, text);
  const verify = async ({ sdk, environment }: Team, { id }: Domain) => {
    aheadMs += PAUSE_MS;
    return await sdk.domains.verify(environment.id, id);
  };
  const state = async ({ sdk, environment }: Team, { id }: Domain) =>
    (await sdk.domains.list(environment.id)).find((each) => each.id === id)?.state;
  const told = async ({ environment }: Team) => {
    const { body } = await runner.call('host', { have: {} });
    const apps = body['apps'] as ReadonlyArray<{
      environmentId: string;
      revision: number;
      domains?: ReadonlyArray<{ name: string }>;
    }>;
    const app = apps.find(({ environmentId }) => environmentId === environment.id);
    return { revision: app?.revision ?? 0, names: (app?.domains ?? []).map((each) => each.name) };
  };
  const ledger = async ({ id }: Domain) => {
    const rows = await server.db.sql<Array<{ said: string }>>`
      select action || ' by ' || actor_kind as said from audit_entries where target = ${id} order by at, seq`;
    return rows.map(({ said }) => said);
  };

  beforeAll(async () => {
    names = await startDnsServer();
    await names.set({});
    const clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
    server = await startTestServer({
      env: { DNS_SERVERS: names.address, JOB_RUNNER_ENABLED: 'true', ALLOW_TEST_DOMAINS: 'true' },
      clock,
    });
    const staff = sdkOf(await firstSession(server));
    const pool = (await staff.teams.list()).find(({ id }) => id !== server.first.teamId);
    const { token } = await staff.runners.createEnrollToken(pool?.id ?? '');
    runner = await scriptedRunner(server.baseUrl, token);
    const edge = { driver: 'nginx', httpPort: 80, httpsPort: 443, addresses: ['203.0.113.7'] };
    await runner.call('heartbeat', { facts: { ...FACTS, host: { edge } } });
    [ours, theirs] = [await team(), await team()];
  });
  afterAll(async () => {
    await server?.stop();
    await names?.stop();
  });
  beforeEach(() => {
    count += 1;
    domain = `d${count}.example.com`;
    name = `app.${domain}`;
  });

  it('show the record to set, and are not served before it is found, wherever the name leads', async () => {
    const before = await told(ours);
    const added = await add(ours);
    expect(added).toMatchObject({
      state: 'pending_verification',
      recordName: `_svc-challenge.${name}`,
      recordValue: expect.stringMatching(/^svc-domain-verification=/) as string,
      hint: expect.stringContaining('set the TXT record') as string,
    });
    expect((await told(ours)).names).toEqual([]);
    await names.set({});
    const none = await verify(ours, added);
    expect(none).toMatchObject({
      state: 'pending_verification',
      hint: expect.stringContaining('there is no TXT record') as string,
    });
    expect(await refused(ours.sdk.domains.verify(ours.environment.id, added.id))).toBe('429 rate_limited');
    await publish(added);
    const proved = await verify(ours, added);
    expect(proved.state).toBe('pending_deploy');
    expect(proved).not.toHaveProperty('recordValue');
    expect(await told(ours)).toEqual({ revision: before.revision + 2, names: [name] });
    expect(await ledger(added)).toEqual(['domain.added by user', 'domain.verified by user']);
    // Nothing is looked up any more.
    expect(await refused(ours.sdk.domains.verify(ours.environment.id, added.id))).toBe('not refused');
  });

  it('are proved by a domain above them, and lost with it', async () => {
    const [added, wild, beside] = [
      await add(ours),
      await add(ours, `*.${domain}`),
      await add(ours, `not${domain}`),
    ];
    const above = await ours.sdk.verifiedDomains.add(ours.teamId, domain);
    await names.set({ [above.recordName]: [above.recordValue] });
    aheadMs += PAUSE_MS;
    await ours.sdk.verifiedDomains.verify(ours.teamId, above.id);
    expect(await state(ours, added)).toBe('pending_deploy');
    expect(await state(ours, beside)).toBe('pending_verification');
    const { names: served, revision } = await told(ours);
    expect(served).toEqual(expect.arrayContaining([name, `*.${domain}`]));
    expect(served).not.toContain(beside.name);
    await ours.sdk.verifiedDomains.remove(ours.teamId, above.id);
    expect(await told(ours)).toMatchObject({ revision: revision + 1 });
    expect((await told(ours)).names).not.toContain(name);
    for (const each of [added, wild])
      expect(await ledger(each)).toEqual([
        'domain.added by user',
        'domain.verified by user',
        'domain.lost by user',
      ]);
    expect(await ledger(beside)).toEqual(['domain.added by user']);
  });

  it('are added by two teams at once, and served for the one that proves the name', async () => {
    const [mine, other] = await Promise.all([add(ours), add(theirs)]);
    expect(mine.recordValue).not.toBe(other.recordValue);
    // Neither says anything of the other.
    expect([mine.state, other.state]).toEqual(['pending_verification', 'pending_verification']);
    await publish(mine);
    await verify(ours, mine);
    expect((await told(ours)).names).toContain(name);
    expect(await state(theirs, other)).toBe('conflicting');
    expect((await told(theirs)).names).not.toContain(name);
    await publish(mine, other);
    expect(await refused(verify(theirs, other))).toBe('409 name_taken');

    const [ourRevision, theirRevision] = [(await told(ours)).revision, (await told(theirs)).revision];
    await publish(other);
    expect(await verify(theirs, other)).toMatchObject({ state: 'pending_deploy' });
    expect(await state(ours, mine)).toBe('conflicting');
    // The proof is taken from one team and given to the other, in one transaction.
    expect((await told(ours)).revision).toBeGreaterThan(ourRevision);
    expect((await told(theirs)).revision).toBeGreaterThan(theirRevision);
    expect((await told(ours)).names).not.toContain(name);
    expect((await told(theirs)).names).toContain(name);
    expect((await ledger(mine)).at(-1)).toBe('domain.lost by system');
    expect((await ledger(other)).at(-1)).toBe('domain.verified by user');
  });

  it('that are added while another team proves them are taken from the runner again', async () => {
    const above = await ours.sdk.verifiedDomains.add(ours.teamId, domain);
    await names.set({ [above.recordName]: [above.recordValue] });
    aheadMs += PAUSE_MS;
    await ours.sdk.verifiedDomains.verify(ours.teamId, above.id);
    const other = await add(theirs);
    await publish(other);
    const { id: environmentId } = ours.environment;
    const waiting = async () =>
      await server.db.sql`select from pg_locks where locktype = 'advisory' and not granted`;
    const { revision } = await told(ours);
    let proving: Promise<Domain> | undefined;
    await server.db.transact(async (db) => {
      await holdPlace(db, systemScope(ours.teamId), environmentId);
      await db.sql`
        insert into domains (id, team_id, environment_id, name, display_name, pool_key, created_at)
        values (${`dom_${'0'.repeat(26)}`}, ${ours.teamId}, ${environmentId}, ${name}, ${name}, 'service', now())`;
      proving = verify(theirs, other);
      await waitFor('the proof to wait', waiting, { holds: ({ length }) => length > 0 });
    });
    expect(await proving).toMatchObject({ state: 'pending_deploy' });
    expect(await told(ours)).toMatchObject({ revision: revision + 1 });
    expect((await told(ours)).names).not.toContain(name);
  });

  it('are nobody’s when their team is deleted, and the nearest proof that is left counts', async () => {
    const third = await team();
    const above = await ours.sdk.verifiedDomains.add(ours.teamId, domain);
    await names.set({ [above.recordName]: [above.recordValue] });
    aheadMs += PAUSE_MS;
    await ours.sdk.verifiedDomains.verify(ours.teamId, above.id);
    const [mine, other] = [await add(ours), await add(third)];
    expect(other.state).toBe('conflicting');
    await publish(other);
    await verify(third, other);
    expect(await state(ours, mine)).toBe('conflicting');
    const { revision } = await told(ours);
    await server.asOwner(`delete from teams where id = '${third.teamId}'`);
    expect(await told(ours)).toMatchObject({ revision: revision + 1 });
    expect((await told(ours)).names).toContain(name);
  });

  it('of one team are one environment’s', async () => {
    await add(ours);
    const { projectId } = ours.environment;
    const second = await ours.sdk.environments.create(projectId, {
      name: `second${count}`,
      repository: REPOSITORY,
      deploy: { kind: 'container', app: `second${count}` },
    });
    await ours.sdk.builds.create(second.id);
    await runner.finish(await runner.take());
    expect(await refused(ours.sdk.domains.create(second.id, name))).toBe('409 name_taken');
    expect(await refused(ours.sdk.domains.create(second.id, 'second.example.com'))).toBe('not refused');
  });

  it('are found, shown and changed by their own team alone', async () => {
    const added = await add(ours);
    const { environment } = ours;
    for (const at of [environment.id, theirs.environment.id]) {
      expect(await refused(theirs.sdk.domains.delete(at, added.id))).toBe('404 not_found');
      expect(await refused(theirs.sdk.domains.verify(at, added.id))).toBe('404 not_found');
    }
    expect(await refused(theirs.sdk.domains.list(environment.id))).toBe('404 not_found');
    expect(await refused(theirs.sdk.domains.enableSsl(environment.id))).toBe('404 not_found');
    expect(await state(ours, added)).toBe('pending_verification');
  });
});

describe.skipIf(!(await has('postgres')))('names of the platform itself', () => {
  it('are nobody’s domains, nor are those below them or a wildcard over them', async () => {
    const server = await startTestServer({ env: { PUBLIC_URLS: 'https://svc.acme.dev' } });
    try {
      const { apiKey: as, teamId } = server.first;
      const project = await server.call('POST /projects', { as, body: { name: 'web', teamId } });
      const path = `/projects/${String(project.body['id'])}/environments`;
      const environment = await server.call(`POST ${path}`, { as, body: { name: 'production' } });
      const add = async (domain: string) =>
        (
          await server.call(`POST /environments/${String(environment.body['id'])}/domains`, {
            as,
            body: { domain },
          })
        ).status;
      for (const name of ['svc.acme.dev', 'SVC.acme.dev.', 'x.svc.acme.dev', '*.acme.dev'])
        expect(await add(name), name).toBe(400);
      expect(await add('app.acme.dev')).toBe(201);
    } finally {
      await server.stop();
    }
  });
});
