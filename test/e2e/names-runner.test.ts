/**
 * Names of an app are served from end to end: the server, a real daemon with podman and nginx, and a real
 * authority. A person adds a name and asks for HTTPS, before the first deploy; the certificate comes, is got
 * anew before it ends, and goes with the name.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Domain } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { masterPid } from '../../runner/edge/nginx/process.ts';
import { edgePlace } from '../setup/edge/edge.ts';
import { startPebble } from '../setup/edge/pebble.ts';
import { startGitServer, type GitServer } from '../setup/git-server.ts';
import { has } from '../setup/needs.ts';
import { freePort } from '../setup/registry.ts';
import { appTree, removeApp } from '../setup/runner/build-stories.ts';
import { waitFor } from '../setup/wait-for.ts';
import { startPlatform, type Platform } from './platform.ts';

const there =
  (await has('postgres')) &&
  (await has('podman')) &&
  (await has('git')) &&
  (await has('registry')) &&
  (await has('nginx')) &&
  (await has('pebble'));

const NAME = 'app.acme.dev';
const VALIDITY_SECONDS = 25;
const WITHIN_MS = 120_000;

describe.runIf(there)('a name of an app', { timeout: 300_000 }, () => {
  const app = `named-${randomBytes(4).toString('hex')}`;
  let platform: Platform;
  let git: GitServer;

  beforeAll(async () => {
    git = await startGitServer();
    const PORT = String(await freePort());
    platform = await startPlatform({ LOCAL_REGISTRY: 'auto', PORT, HEARTBEAT_MS: '1000' });
  }, 120_000);
  afterAll(async () => {
    // It goes on without its daemon, whose folder goes with the platform.
    const master = masterPid(join(platform?.folder ?? '', 'named', 'edge', 'nginx'));
    await platform?.stop();
    if (master !== undefined) process.kill(master, 'SIGTERM');
    await removeApp(app);
    await git?.stop();
  }, 60_000);

  it('is served with a certificate of its own, which is got anew by itself, until it is deleted', async () => {
    const { sdk, folder } = platform;
    const place = await edgePlace();
    const pebble = await startPebble({ httpPort: place.httpPort, validitySeconds: VALIDITY_SECONDS });
    const authority = join(folder, 'authority.pem');
    writeFileSync(authority, pebble.certificates.ca);
    const teamId = await platform.customerTeam('named');
    const flags = ['--executor', 'podman', '--allow-insecure-git', '--edge', 'nginx'];
    flags.push('--edge-http-port', `${place.httpPort}`, '--edge-https-port', `${place.httpsPort}`);
    flags.push('--edge-dns', pebble.dns.address, '--edge-address', '127.0.0.1');
    await platform.startRunner(teamId, 'named', [
      ...flags,
      '--acme-directory',
      pebble.directory,
      '--acme-ca-file',
      authority,
    ]);
    const { url } = git.commit('web', await appTree());
    const { id } = await platform.environment(teamId, url, { deploy: { kind: 'container', app } });
    const added = await sdk.domains.create(id, NAME);
    expect(added.state).toBe('pending_deploy');
    await sdk.domains.enableSsl(id);
    const build = await platform.endedBuild(id, (await sdk.builds.create(id)).id);
    expect(build, build.message).toMatchObject({ state: 'succeeded' });

    const inForce = async (holds: (domain: Domain) => boolean = () => true): Promise<Domain> =>
      await waitFor(
        'the name with its certificate',
        async () =>
          (await sdk.domains.list(id)).find(
            (one) => one.state === 'active' && one.certificate?.state === 'active' && holds(one),
          ),
        { withinMs: WITHIN_MS },
      );
    const first = await inForce();
    expect(first.dns).toMatchObject({ state: 'ok', seen: ['127.0.0.1'] });
    expect(first.certificate?.issuer).toMatch(/Pebble Intermediate CA/);
    const page = await place.getTls(NAME, await pebble.root(), '/index.html');
    expect(page).toMatchObject({ status: 200, body: 'hello from the build\n' });
    expect((await place.get(NAME)).status).toBe(308);
    const { lines } = await waitFor('its line', async () => await sdk.environments.nginxLogs(id, 'access'), {
      holds: (told) => told.lines.some(({ path }) => path === '/index.html'),
      withinMs: WITHIN_MS,
    });
    const served = { host: NAME, remote: '127.0.0.0', method: 'GET', path: '/index.html', status: 200 };
    expect(lines).toContainEqual(expect.objectContaining(served));
    const { minutes } = await sdk.environments.nginxMinutes(id);
    expect(minutes.reduce((sum, { s2xx }) => sum + s2xx, 0)).toBeGreaterThan(0);
    expect((await place.get('other.acme.dev')).status).toBe(421);
    expect(await place.shown('other.acme.dev')).toBeUndefined();

    const next = await inForce(({ certificate }) => certificate?.serial !== first.certificate?.serial);
    expect(Date.parse(next.certificate?.notAfter ?? '')).toBeGreaterThan(
      Date.parse(first.certificate?.notAfter ?? ''),
    );

    await sdk.domains.delete(id, added.id);
    await waitFor('the end of the name', async () => (await place.get(NAME)).status === 421);
    expect(await place.shown(NAME)).toBeUndefined();
    const keys = join(folder, 'named', 'edge', 'certificates');
    await waitFor('the end of its keys', () => readdirSync(keys, { recursive: true, encoding: 'utf8' }), {
      holds: (files) => !files.some((file) => file.includes(NAME)),
    });
  });
});
