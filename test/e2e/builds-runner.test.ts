/**
 * Builds from end to end with what users run: the server, a real daemon with podman, a repository by `git
 * http-backend` and a real registry, all on loopback. A person deploys by the SDK, follows the output, opens
 * the address, and rolls back.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSvcSDK, type BuildEvent } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGitServer, type GitServer, type TreeEntry } from '../setup/git-server.ts';
import { has } from '../setup/needs.ts';
import { freePort, startRegistry, type Registry } from '../setup/registry.ts';
import { startPlatform, type Platform } from './platform.ts';
import { removeApp } from '../setup/runner/build-stories.ts';
import { waitFor } from '../setup/wait-for.ts';

const there =
  (await has('postgres')) && (await has('podman')) && (await has('git')) && (await has('registry'));

const podman = (...args: string[]) =>
  execFileSync('podman', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();

const PACKAGES = 60;

function appTree(text: string): Record<string, TreeEntry> {
  const busybox = execFileSync('sh', ['-c', 'readlink -f "$(command -v busybox)"']).toString().trim();
  return {
    busybox: { program: readFileSync(busybox) },
    'index.html': text,
    'os-release': 'ID=debian\nVERSION_ID="12"\n',
    status: Array.from(
      { length: PACKAGES },
      (_, n) => `Package: lib${n}\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:${n}-1\n`,
    ).join('\n'),
    Dockerfile:
      'FROM scratch\nCOPY busybox /bin/busybox\nCOPY index.html /www/index.html\n' +
      'COPY os-release /etc/os-release\nCOPY status /var/lib/dpkg/status\n' +
      // busybox is deaf to SIGTERM as the first process.
      'STOPSIGNAL SIGKILL\n' +
      'CMD ["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/www"]\n',
  };
}

describe.runIf(there)('builds by a real runner', { timeout: 300_000 }, () => {
  const app = `e2e-${randomBytes(4).toString('hex')}`;
  let platform: Platform;
  let git: GitServer;
  let registry: Registry;
  let teamId: string;
  let environmentId: string;
  let runnerId: string;
  /** Returns the log of the daemon. */
  let said: () => string;
  let firstCommit: string;

  beforeAll(async () => {
    const port = await freePort();
    git = await startGitServer();
    platform = await startPlatform(
      {
        LOCAL_REGISTRY: `127.0.0.1:${port}`,
        LEASE_MS: '20000',
        HEARTBEAT_MS: '1000',
      },
      'machine',
    );
    const certificate = join(platform.folder, 'platform', 'registry', 'tokens.crt');
    registry = await startRegistry({
      port,
      tokens: { realm: `${platform.url}/registry/token`, certificate },
    });
    teamId = await platform.customerTeam('builders');
    const runner = await platform.startRunner(teamId, 'builder', [
      '--executor',
      'podman',
      '--allow-insecure-git',
    ]);
    ({ runnerId } = runner);
    said = () => runner.output();
    const { url, commit } = git.commit('web', appTree('first\n'));
    firstCommit = commit;
    const deploy = { kind: 'container', app };
    ({ id: environmentId } = await platform.environment(teamId, url, { deploy }));
    await platform.sdk.variables.set(environmentId, 'TOKEN', 'canary-4711', { secret: true });
  }, 120_000);

  afterAll(async () => {
    await platform?.stop();
    await removeApp(app);
    await Promise.all([git?.stop(), registry?.stop()]);
  }, 60_000);

  const page = async (address: string | undefined) => await (await fetch(`${address}/index.html`)).text();
  const ended = async (buildId: string) => await platform.endedBuild(environmentId, buildId, 90_000);

  it('builds, pushes and deploys, and the reported address answers; a rollback brings the earlier image back', async () => {
    const started = await platform.sdk.builds.create(environmentId);
    const told: BuildEvent[] = [];
    await platform.sdk.builds.streamLogs(environmentId, started.id, (event) => told.push(event));
    const first = await ended(started.id);
    const output = told.map(({ text }) => text ?? '').join('');
    expect(first, output).toMatchObject({
      state: 'succeeded',
      runnerName: 'builder',
      buildType: 'dockerfile',
    });
    expect(first.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(output).toContain('==> cloning: ');
    expect(output).toContain('STEP 1/');
    expect(output).toMatch(/==> done\n$/);
    expect(await page(first.address)).toBe('first\n');
    const inspected = podman('inspect', `svc-app-${app}`);
    expect(inspected).toContain(first.digest);
    // The app has users and a network of its own.
    expect(inspected).toContain(`svc-app-${app}-`);
    expect(inspected).toMatch(/"UidMap": \[\s*"0:/);
    expect(output).toContain(`packages of the image: ${PACKAGES} found`);
    const { digest = '' } = first;
    const isProvenance = ({ predicateType }: { readonly predicateType?: string | undefined }): boolean =>
      predicateType === 'https://slsa.dev/provenance/v1';
    const provenance = await waitFor('provenance of the image', async () =>
      (await platform.sdk.artifacts.attestations(teamId, digest)).find(isProvenance),
    );
    expect(provenance).toMatchObject({
      verification: { status: 'valid', signer: 'the service (build_customer)' },
      statement: { predicate: { buildDefinition: { internalParameters: { runnerId, executor: 'podman' } } } },
    });
    const artifact = await platform.sdk.artifacts.get(teamId, digest);
    expect(artifact).toMatchObject({ kind: 'image', sbom: { packages: PACKAGES, unread: [] } });
    const packages = await platform.sdk.artifacts.packages(teamId, digest);
    expect(packages[0]).toMatchObject({ type: 'deb', name: 'lib0', version: '1:0-1' });

    const { commit } = git.commit('web', appTree('second\n'));
    const second = await ended((await platform.sdk.builds.create(environmentId)).id);
    expect(second.state).toBe('succeeded');
    expect(await page(second.address)).toBe('second\n');

    const pushes = registry.pushes.length;
    const tags = [`1-${firstCommit.slice(0, 7)}`, `2-${commit.slice(0, 7)}`];
    expect([first.tag, second.tag]).toEqual(tags);
    expect(registry.pushes.map((name) => name.replace(/^.*:/, ''))).toEqual(tags);
    const back = await ended((await platform.sdk.builds.rollback(environmentId, first.id)).id);
    expect(back, back.message).toMatchObject({ state: 'succeeded', digest: first.digest });
    expect(await page(back.address)).toBe('first\n');
    expect(registry.pushes).toHaveLength(pushes);
  });

  it('promotes a release of it: it waits, is approved, the container answers, and all of it is known', async () => {
    const { sdk } = platform;
    const [newest] = (await sdk.artifacts.list(teamId, { kind: 'image' })).slice(0, 1);
    const { projectId } = await sdk.environments.get(environmentId);
    const release = await sdk.releases.create(projectId, {
      version: '1.0.0',
      artifactIds: [newest?.id ?? ''],
    });
    const promotion = await sdk.promotions.create(environmentId, release.id);
    expect(promotion).toMatchObject({ state: 'pending', waitingFor: { code: 'approval' } });
    const { staffEmail, staffPassword } = platform.bootstrap;
    const { token } = await sdk.auth.login(staffEmail, staffPassword);
    const person = createSvcSDK({ baseUrl: platform.url, token });
    const approved = await person.promotions.approve(environmentId, promotion.id);
    const build = await ended(approved.buildId ?? '');
    expect(build, build.message).toMatchObject({ state: 'succeeded', digest: newest?.digest });
    expect(await page(build.address)).toBe('second\n');
    const done = await waitFor(
      'the promotion',
      async () => await sdk.promotions.get(environmentId, promotion.id),
      {
        holds: ({ state }) => state === 'deployed',
      },
    );
    expect(done.buildId).toBe(build.id);
    const found = await waitFor(
      'the impact',
      async () => await sdk.artifacts.impact(teamId, { packageName: 'lib7' }),
      {
        holds: ({ environments }) => environments?.[0]?.promotionId === promotion.id,
      },
    );
    expect(found.environments).toMatchObject([{ environmentId, address: build.address }]);
    const { nodes } = await sdk.artifacts.lineage(teamId, newest?.id ?? '');
    expect(nodes.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['commit', 'build', 'artifact', 'release', 'promotion', 'deployment']),
    );
  });

  it('fails clearly without a Dockerfile, and what served before serves', async () => {
    const { url } = git.commit('empty', { README: 'nothing to build' });
    await platform.sdk.environments.update(environmentId, { repository: url });
    const build = await ended((await platform.sdk.builds.create(environmentId)).id);
    expect(build.state).toBe('failed');
    expect(build.message).toContain(
      'there is no Dockerfile in the repository: auto tried Dockerfile, then Containerfile',
    );
    expect(podman('ps', `--filter=label=svc.runner=${runnerId}`, '--format={{.Names}}').trim()).toBe(
      `svc-app-${app}`,
    );
  });

  it("pushes to the team's own registry with its credentials, pulls from there, and shows them nowhere", async () => {
    const own = await startRegistry({ username: 'ci', password: 'canary-0815' });
    try {
      const pushes = registry.pushes.length;
      const added = await platform.sdk.registries.add(teamId, own.host, {
        namespace: 'acme/apps',
        username: 'ci',
        password: 'canary-0815',
        insecure: true,
      });
      const { url } = git.commit('own', appTree('own\n'));
      await platform.sdk.environments.update(environmentId, { repository: url });
      const { id } = await platform.sdk.builds.create(environmentId);
      const told: BuildEvent[] = [];
      await platform.sdk.builds.streamLogs(environmentId, id, (event) => told.push(event));
      const build = await ended(id);
      expect(build, told.map(({ text }) => text ?? '').join('')).toMatchObject({ state: 'succeeded' });
      expect(build.image).toMatch(new RegExp(`^${own.host}/acme/apps/`));
      expect(own.pushes).toHaveLength(1);
      expect(registry.pushes).toHaveLength(pushes);
      expect(await page(build.address)).toBe('own\n');
      expect(JSON.stringify([told, build, added])).not.toContain('canary-0815');
      await platform.sdk.registries.remove(teamId, added.id);
      expect(await platform.sdk.registries.list(teamId)).toEqual([]);
    } finally {
      await own.stop();
    }
  });

  it('leaves its machine with its environment, and its data a week later', async () => {
    const mount = await platform.sdk.storage.create(environmentId, 'uploads', '/srv/uploads');
    const build = await ended((await platform.sdk.builds.create(environmentId)).id);
    expect(build.state, build.message).toBe('succeeded');
    await waitFor(
      'the app as its runner sees it',
      async () => await platform.sdk.hosting.get(environmentId),
      {
        holds: ({ observed }) => observed?.state === 'running' && observed.buildId === build.id,
      },
    );
    await waitFor(
      'the storage in its container',
      async () => await platform.sdk.storage.list(environmentId),
      {
        holds: ([first]) => first?.id === mount.id && first.state === 'mounted',
      },
    );
    expect(await platform.sdk.hosting.get(environmentId)).toMatchObject({ runnerId, app, holdsData: true });
    const volume = (): string =>
      podman('volume', 'ls', '--quiet', `--filter=label=svc.environment=${environmentId}`);
    const containers = (): string => podman('ps', '--all', '--quiet', `--filter=label=svc.app=${app}`).trim();
    const volumeName = volume().trim();
    expect(volumeName).toMatch(/^svc-vol-env_/);
    await platform.sdk.environments.delete(environmentId);
    await waitFor('the end of the app', containers, { holds: (ids) => ids === '' });
    // Its network and the rules of that have gone by then.
    await waitFor('the word of its daemon', () => said().includes('an app was removed'));
    expect(volume().trim()).toBe(volumeName);
    podman('volume', 'rm', volumeName);
  });
});
