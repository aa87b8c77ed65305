/**
 * This file tests the doctor's checks against real servers on loopback: a registry, certificates, proxies.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataPaths, readConfig } from '../disk/identity.ts';
import { parseFlags } from '../commands/flags.ts';
import { noteRegistry } from '../disk/last-registry.ts';
import { runSettings } from '../commands/settings.ts';
import { has } from '../../test/setup/needs.ts';
import { freePort } from '../../test/setup/registry.ts';
import { registry as startRealRegistry } from '../../test/setup/runner/build-stories.ts';
import { makeCertificates } from '../../test/setup/runner/certificates.ts';
import { makeHome } from '../../test/setup/runner/daemon-process.ts';
import { refusal, type FakeControlPlane } from '../../test/setup/runner/fake-control-plane.ts';
import { startFakeProxy } from '../../test/setup/runner/fake-proxy.ts';
import { listening } from '../../test/setup/runner/listening.ts';
import { programsFirst } from '../../test/setup/runner/programs.ts';
import { controlPlane } from '../../test/setup/runner/stories.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { collect, type CheckContext, type CheckResult } from './check.ts';
import { controlPlane as controlPlaneChecks } from './checks/control-plane.ts';
import { backlog } from './checks/backlog.ts';
import { edge } from './checks/edge.ts';
import { registry } from './checks/registry.ts';
import { tools } from './checks/tools.ts';
import { lookAtTls } from './tls.ts';

const hasRegistry = await has('registry');

function contextOf(more: Partial<CheckContext> = {}): CheckContext {
  return {
    paths: dataPaths(tempDir()),
    settings: runSettings(parseFlags([], [], {}), {}),
    pushTest: false,
    env: { HOME: tempDir() },
    ...more,
  };
}

async function run(group: typeof registry, context: CheckContext): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  await group(context, collect(results));
  return results;
}

describe('registry check', () => {
  it.runIf(hasRegistry)('proves the right to push without pushing, and pushes when asked', async () => {
    const { host } = await startRealRegistry();
    const asked = await run(registry, contextOf({ registry: `${host}/acme` }));
    expect(asked).toMatchObject([
      { name: 'registry', status: 'ok', detail: expect.stringContaining('takes pushes to acme/') as string },
    ]);
    const catalog = async () =>
      (await (await fetch(`http://${host}/v2/_catalog`)).json()) as { repositories: string[] };
    expect((await catalog()).repositories).toEqual([]);

    const [pushed] = await run(registry, contextOf({ registry: `${host}/acme`, pushTest: true }));
    expect(pushed).toMatchObject({ status: 'ok', detail: expect.stringContaining('sha256:') as string });
    const digest = /sha256:[0-9a-f]{64}/.exec(pushed?.detail ?? '')?.[0];
    const reply = await fetch(`http://${host}/v2/acme/svc-runner-doctor/manifests/svc-runner-doctor`, {
      headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
    });
    expect(reply.headers.get('docker-content-digest')).toBe(digest);
  });

  /** Starts a registry that wants a token, as the public ones do. */
  async function startTokenRegistry(allowed: string | undefined): Promise<{ host: string; seen: string[] }> {
    const seen: string[] = [];
    const handler: RequestListener = (request, response) => {
      const url = new URL(request.url ?? '', 'http://x');
      seen.push(`${request.method} ${url.pathname} ${request.headers.authorization ?? '-'}`);
      if (url.pathname === '/token') {
        const good = request.headers.authorization === allowed;
        response.writeHead(200, { 'content-type': 'application/json' });
        return void response.end(JSON.stringify({ token: good ? 'push' : 'pull' }));
      }
      if (request.headers.authorization === undefined) {
        const realm = `Bearer realm="http://${request.headers.host}/token",service="r"`;
        response.writeHead(401, { 'www-authenticate': realm });
        return void response.end();
      }
      const good = request.headers.authorization === 'Bearer push';
      response.writeHead(good ? 202 : 403, { location: '/v2/upload/1' });
      response.end(
        good ? '' : JSON.stringify({ errors: [{ code: 'DENIED', message: 'requested access is denied' }] }),
      );
    };
    return { host: `127.0.0.1:${await listening(createServer(handler))}`, seen };
  }

  it("signs in with this user's own login, throws the upload away, and never tells the password", async () => {
    const auth = Buffer.from('me:hunter22').toString('base64');
    const { host, seen } = await startTokenRegistry(`Basic ${auth}`);
    const home = tempDir();
    mkdirSync(join(home, '.docker'));
    writeFileSync(join(home, '.docker', 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }));
    const [found] = await run(registry, contextOf({ registry: `${host}/acme`, env: { HOME: home } }));
    expect(found).toMatchObject({ status: 'ok', detail: expect.stringContaining('as me (') as string });
    expect(seen.at(-1)).toBe('DELETE /v2/upload/1 Bearer push');
    expect(JSON.stringify(found)).not.toContain('hunter22');
  });

  it('tells a refusal from a registry that is not there, and says what to do about each', async () => {
    const { host } = await startTokenRegistry('Basic nobody');
    const [refused] = await run(registry, contextOf({ registry: `${host}/acme` }));
    expect(refused).toMatchObject({
      status: 'fail',
      advice: expect.stringContaining('podman login') as string,
    });
    expect(refused?.detail).toContain('DENIED: requested access is denied');
    const [away] = await run(registry, contextOf({ registry: `127.0.0.1:${await freePort()}/acme` }));
    expect(away).toMatchObject({ status: 'fail', advice: expect.stringContaining('is 127.0.0.1') as string });
    const [odd] = await run(registry, contextOf({ registry: 'not a host' }));
    expect(odd).toMatchObject({ status: 'fail', detail: '"not a host" is no registry host' });
    expect(await run(registry, contextOf())).toMatchObject([{ status: 'skip' }]);

    // Without a name the last build's registry is checked. Its credentials came with the offer, so a refusal
    // of this user is no failure.
    const context = contextOf();
    await noteRegistry(context.paths.dataDir, { host, name: `${host}/acme/team/web` });
    const [last] = await run(registry, context);
    expect(last).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('acme/team/svc-runner-doctor') as string,
    });
  });
});

describe('control plane checks', () => {
  /** Makes an enrolled machine and runs the checks of the control plane alone. */
  async function enrolled(): Promise<{
    cp: FakeControlPlane;
    look: () => Promise<Map<string, CheckResult>>;
  }> {
    const cp = await controlPlane();
    const paths = dataPaths(makeHome(cp).dataDir);
    const config = readConfig(paths);
    if (config === undefined) throw new Error('the home holds no config');
    return {
      cp,
      look: async () => {
        const results = await run(controlPlaneChecks, contextOf({ paths, config, baseUrl: cp.url }));
        return new Map(results.map((result) => [result.name, result]));
      },
    };
  }

  it('finds a good connection good, step by step', async () => {
    const { cp, look } = await enrolled();
    const found = await look();
    expect([...found].map(([name, { status }]) => `${name} ${status}`)).toEqual([
      'proxy ok',
      'dns ok',
      'tls skip',
      'reachable ok',
      'clock ok',
      'identity ok',
      'version ok',
    ]);
    expect(cp.boot).toBeUndefined();
  });

  it('tells a host that cannot be reached, and a name that is none', async () => {
    const look = async (baseUrl: string) =>
      new Map((await run(controlPlaneChecks, contextOf({ baseUrl }))).map((result) => [result.name, result]));
    expect((await look('http://127.0.0.1:1')).get('reachable')?.advice).toContain('is the control plane up');
    expect((await look('https://no-such-host.invalid')).get('dns')?.status).toBe('fail');
  });

  it('2.8 warns of a clock that is corrected, and fails on one that is more than a day off', async () => {
    const { cp, look } = await enrolled();
    cp.clockMs = -3_600_000;
    expect((await look()).get('clock')).toMatchObject({
      status: 'warn',
      detail: expect.stringMatching(/^3\d\d\d s ahead of/) as string,
    });
    cp.clockMs = 2 * 86_400_000;
    expect((await look()).get('clock')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('more than the 24 hours') as string,
      advice: expect.stringContaining('timedatectl') as string,
    });
  });

  it('2.14 says that the version is too old, or that another is recommended, and does not take the runner over', async () => {
    const { cp, look } = await enrolled();
    Object.assign(cp.directives, { versionTooOld: true, minVersion: '99.0.0', recommendedVersion: '99.1.0' });
    expect((await look()).get('version')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('below 99.0.0') as string,
      advice: expect.stringContaining('install svc-runner 99.1.0') as string,
    });
    cp.directives = {};
    Object.assign(cp.directives, { upgradeRecommended: true, recommendedVersion: '99.1.0' });
    expect((await look()).get('version')).toMatchObject({ status: 'warn' });
    expect(cp.boot).toBeUndefined();
  });

  it('tells runners that are switched off, one that is revoked and one that is unknown from each other', async () => {
    const { cp, look } = await enrolled();
    const adviceTo = async (status: number, code: string) => {
      cp.script('heartbeat', refusal(status, code));
      return (await look()).get('identity')?.advice;
    };
    expect(await adviceTo(404, 'not_found')).toContain('host.runners');
    expect(await adviceTo(401, 'key_unknown')).toContain('does not know this key');
    expect(await adviceTo(401, 'runner_revoked')).toContain('was revoked');
  });
});

describe('tls check', () => {
  it('2.16 names the chain and its end, trusts a private authority only when it is given, through a proxy too', async () => {
    const certificates = makeCertificates();
    const port = await listening(createTlsServer(certificates, (_, response) => void response.end()));
    const url = new URL(`https://localhost:${port}`);
    const look = async (ca: string | undefined, proxy?: URL) =>
      await lookAtTls({ url, proxy, ca, timeoutMs: 5_000 });

    const trusted = await look(certificates.ca);
    expect(trusted.status).toBe('warn');
    expect(trusted.detail).toMatch(
      /^TLSv1\.3, localhost ← .*test authority.*, valid until \d{4}-\d\d-\d\d, in \d days$/,
    );
    const refused = await look(undefined);
    expect(refused).toMatchObject({ status: 'fail', advice: expect.stringContaining('--ca-file') as string });

    const proxy = await startFakeProxy('me:secret');
    expect((await look(certificates.ca, new URL(proxy.url))).status).toBe('warn');
    expect(proxy.seen).toEqual([`CONNECT localhost:${port}`]);
    const wrong = await look(certificates.ca, new URL(proxy.url.replace('secret', 'other')));
    expect(wrong).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('answered 407') as string,
    });
  });

  it('says when a certificate has expired, and when it is for another name', async () => {
    const { ca, ...own } = makeCertificates('DNS:other.example');
    const port = await listening(createTlsServer(own, (_, response) => void response.end()));
    const found = await lookAtTls({
      url: new URL(`https://localhost:${port}`),
      proxy: undefined,
      ca,
      timeoutMs: 5_000,
    });
    expect(found).toMatchObject({ status: 'fail', advice: expect.stringContaining('other names') as string });
  });
});

describe('tools check', () => {
  it('knows git, and says what to install for buildpacks', async () => {
    const found = new Map((await run(tools, contextOf())).map((result) => [result.name, result]));
    expect(found.get('git')).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('git version') as string,
    });
    const pack = found.get('pack');
    if (pack?.status !== 'ok') expect(pack?.advice).toContain('github.com/buildpacks/pack/releases');
    for (const { status, advice, name } of found.values())
      if (status !== 'ok') expect(advice, name).toBeTruthy();
  });

  it('refuses a pack of another version than the pinned one', async () => {
    programsFirst({ pack: 'echo 0.30.0+git-1' });
    const found = (await run(tools, contextOf())).find(({ name }) => name === 'pack');
    expect(found).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('pack 0.30.0 is here') as string,
    });
  });
});

describe('edge check', () => {
  const settingsOf = (config: object) => runSettings(parseFlags([], [], {}), config);
  /** Returns status and details by check. */
  const found = async (config: object) =>
    Object.fromEntries(
      (await run(edge, contextOf({ settings: settingsOf(config) }))).map(({ name, status, detail }) => [
        name.replace('edge: ', ''),
        `${status} ${detail}`,
      ]),
    );

  it('has nothing to check where no edge is switched on', async () => {
    expect(await found({})).toEqual({ edge: expect.stringMatching(/^skip none is switched on/) as string });
  });

  it('says which program is too old, which port is taken and which authority does not answer', async () => {
    programsFirst({ nginx: 'echo "nginx version: nginx/1.18.0" >&2' });
    const taken = await listening(createServer());
    const free = await freePort();
    const config = {
      edge: 'nginx',
      edgeHttpPort: taken,
      edgeHttpsPort: free,
      acmeDirectory: `https://127.0.0.1:${free}/dir`,
    };
    expect(await found(config)).toEqual({
      nginx: 'fail nginx/1.18.0 is too old',
      ports: `fail port ${taken} cannot be opened (EADDRINUSE)`,
      authority: expect.stringMatching(/^warn https:\S+ cannot be asked: /) as string,
    });
    programsFirst({ nginx: 'echo "nginx version: nginx/1.22.1" >&2' });
    expect(await found({ ...config, edgeHttpPort: await freePort() })).toMatchObject({
      nginx: 'ok nginx/1.22.1',
      ports: expect.stringMatching(/^ok ports .* are free$/) as string,
    });
  });
});

describe('edge check of zones', () => {
  it('tries each zone with a change of nothing, and says what its server answers', async () => {
    programsFirst({
      nsupdate:
        'input=$(cat); case "$input" in *"zone b.example."*) echo "update failed: REFUSED" >&2; exit 2;; esac',
    });
    const config = { edge: 'nginx', acmeDnsKey: '/etc/dns.key', acmeDnsZones: 'a.example,b.example' };
    const settings = runSettings(parseFlags([], [], {}), config);
    const found = await run(edge, contextOf({ settings }));
    expect(found.filter(({ name }) => name.startsWith('edge: zone'))).toMatchObject([
      {
        name: 'edge: zone a.example',
        status: 'ok',
        detail: 'the key of /etc/dns.key may change its records',
      },
      {
        name: 'edge: zone b.example',
        status: 'fail',
        detail: 'the key of /etc/dns.key cannot change its records: update failed: REFUSED',
      },
    ]);
  });
});

describe('backlog check', () => {
  it('counts what waits, with and without a folder', async () => {
    const context = contextOf();
    expect(await run(backlog, context)).toMatchObject([{ status: 'ok' }]);
    mkdirSync(context.paths.outbox);
    writeFileSync(join(context.paths.outbox, 'run_1.1.json'), '{}');
    writeFileSync(
      context.paths.journal,
      `${JSON.stringify({ id: 'run_1', epoch: 1, event: 'ended', at: '' })}\n{"torn`,
    );
    expect(await run(backlog, context)).toMatchObject([
      { status: 'warn', detail: '1 open grants in the journal, 1 results and 0 bytes of output wait' },
    ]);
  });
});
