/**
 * A real daemon with podman and nginx serves an app under its name, with a certificate of a real authority,
 * and goes on through deploys and through its own death: nobody who asks meanwhile is refused.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { edgePlace, endNginx } from '../../test/setup/edge/edge.ts';
import { startPebble } from '../../test/setup/edge/pebble.ts';
import { has } from '../../test/setup/needs.ts';
import {
  BUILD_MS,
  built,
  orphans,
  removeAppWhenDone,
  removeImagesAfterAll,
  repository,
  shown,
  startBuilder,
} from '../../test/setup/runner/build-stories.ts';
import { untilReported } from '../../test/setup/runner/daemon-process.ts';
import { enrolledMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { whenDone } from '../../test/setup/runner/when-done.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type { SyncHostRequest } from '../control-plane/wire.ts';
import { pause } from '../platform/clock.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git')) && (await has('nginx')) && (await has('pebble'));

const environmentId = 'env_1';
/** The machine is busy with a build as well. */
const PAUSE_MS = 20;

/** One visitor waits for each answer before it asks again. */
function load(ask: () => Promise<{ status: number }>) {
  const answers: Array<number | string> = [];
  let isOver = false;
  const done = (async () => {
    while (!isOver) {
      answers.push(await ask().then(({ status }) => status, String));
      await pause(PAUSE_MS);
    }
  })();
  return {
    answers,
    end: async () => {
      isOver = true;
      await done;
      return answers.filter((answer) => answer !== 200);
    },
  };
}

describe.runIf(there)('an app under its name', { timeout: 300_000 }, () => {
  it('has a certificate, and answers through deploys and the death of its daemon', async () => {
    const place = await edgePlace();
    const pebble = await startPebble({ httpPort: place.httpPort });
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 60_000;
    whenDone(async () => await endNginx(join(home.dataDir, 'edge', 'nginx')));
    const app = `edge-${randomBytes(4).toString('hex')}`;
    removeAppWhenDone(app);
    const authority = join(home.dataDir, 'authority.pem');
    writeFileSync(authority, pebble.certificates.ca);
    const args = [
      '--edge',
      'nginx',
      '--edge-http-port',
      `${place.httpPort}`,
      '--edge-https-port',
      `${place.httpsPort}`,
    ];
    args.push('--edge-dns', pebble.dns.address, '--edge-address', '127.0.0.1');
    args.push('--acme-directory', pebble.directory, '--acme-ca-file', authority);
    let daemon = startBuilder(bundle(), home, ...args);
    shown({ cp, daemon });
    const said: SyncHostRequest[] = [];
    const domains = [{ name: 'app.example.com', ssl: true }, { name: 'plain.example.com' }];
    const document = {
      environmentId,
      revision: 1,
      kind: 'container',
      app,
      containerPort: 8080,
      domains,
    } as const;
    cp.host = (request) => {
      said.push(request);
      return {
        revision: 1,
        apps: request.have?.[environmentId] === 1 ? [] : [{ ...document, domains: [...domains] }],
      };
    };
    // Before the first deploy the name is there, and says so.
    await waitFor('the site', async () => (await place.get('app.example.com')).status === 503, {
      withinMs: BUILD_MS,
    });
    const { git, source } = await repository();
    const deploy = { kind: 'container', app, containerPort: 8080, environmentId } as const;
    const first = await built(cp, { source, deploy });
    expect(first.report, first.output.toString()).toMatchObject({ exitCode: 0 });
    const page = async () => await place.get('plain.example.com', { path: '/index.html' });
    await waitFor('the app under its name', async () => (await page()).body === 'hello from the build\n');

    const certificate = await waitFor('its certificate', async () => await place.shown('app.example.com'), {
      withinMs: BUILD_MS,
    });
    expect(certificate.issuer.CN).toMatch(/^Pebble Intermediate CA/);
    expect((await place.get('app.example.com')).headers['location']).toBe(
      `https://app.example.com:${place.httpsPort}/`,
    );
    const told = await waitFor(
      'what the runner says of the name',
      () =>
        said
          .flatMap(({ observed = [] }) => observed.flatMap((one) => one.domains ?? []))
          .findLast(({ certificateState }) => certificateState === 'active'),
      { withinMs: BUILD_MS },
    );
    expect(told).toMatchObject({
      name: 'app.example.com',
      dnsState: 'ok',
      serial: expect.stringMatching(/^[0-9a-f]+$/i),
    });
    expect(await place.get('other.example.com')).toMatchObject({ status: 421 });

    const deploying = load(page);
    git.commit('web', { 'index.html': 'second\n' });
    const second = await built(cp, { source, deploy });
    expect(second.report, second.output.toString()).toMatchObject({ exitCode: 0 });
    expect((await page()).body).toBe('second\n');
    expect(await deploying.end()).toEqual([]);
    const line = await waitFor('a line of a visitor', () =>
      cp.hostLogs
        .flatMap(({ lines = [] }) => lines)
        .find(({ host, path }) => host === 'plain.example.com' && path === '/index.html'),
    );
    expect(line).toMatchObject({ remote: '127.0.0.0', method: 'GET' });

    // The daemon dies while the next one takes its place.
    const dying = load(page);
    git.commit('web', { 'index.html': 'third\n' });
    const third = cp.submitBuild({ source, deploy });
    await waitFor('the deploy', () => third.phases.includes('deploying'), { withinMs: BUILD_MS });
    await daemon.end('SIGKILL');
    third.expiresAtMs = 0;
    daemon = startBuilder(bundle(), home, ...args);
    await untilReported(cp, third.id, BUILD_MS).catch(() => undefined);
    const fourth = await built(cp, { source, deploy });
    expect(fourth.report, fourth.output.toString()).toMatchObject({ exitCode: 0 });
    await waitFor('the newest', async () => (await page()).body === 'third\n');
    expect(await dying.end()).toEqual([]);
    expect(await orphans(home, cp.runnerId)).toEqual([]);
    expect(JSON.stringify([said, daemon.output()])).not.toContain('PRIVATE KEY');
  });
});
