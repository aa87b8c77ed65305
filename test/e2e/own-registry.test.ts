/**
 * A server that starts its own registry (`LOCAL_REGISTRY=auto`) and a runner on the same machine; the server
 * dies, and the images are there for the next one.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGitServer, type GitServer } from '../setup/git-server.ts';
import { has } from '../setup/needs.ts';
import { freePort } from '../setup/registry.ts';
import { appTree, podman, removeApp } from '../setup/runner/build-stories.ts';
import { startPlatform, type Platform } from './platform.ts';
import { startProgram, type Program } from './processes.ts';

const there =
  (await has('postgres')) && (await has('podman')) && (await has('git')) && (await has('registry'));
const RUNNER = ['--executor', 'podman', '--allow-insecure-git'];

const registryStatus = async (host: string) =>
  await fetch(`http://${host}/v2/`).then(
    ({ status }) => status,
    () => undefined,
  );

describe.runIf(there)("the server's own registry", { timeout: 300_000 }, () => {
  const app = `own-${randomBytes(4).toString('hex')}`;
  let platform: Platform;
  let git: GitServer;
  let next: Program | undefined;

  beforeAll(async () => {
    git = await startGitServer();
    const PORT = String(await freePort());
    platform = await startPlatform({ LOCAL_REGISTRY: 'auto', PORT, HEARTBEAT_MS: '1000' });
  }, 120_000);
  afterAll(async () => {
    await next?.stop('SIGTERM');
    await platform?.stop();
    await removeApp(app);
    await git?.stop();
  }, 60_000);

  it('takes the image of a build on the same machine, ends with a killed server, and has the image for the next one', async () => {
    const dataDir = join(platform.folder, 'platform');
    const host = `127.0.0.1:${readFileSync(join(dataDir, 'registry', 'port'), 'utf8').trim()}`;
    const teamId = await platform.customerTeam('builders');
    await platform.startRunner(teamId, 'same-machine', RUNNER);
    const { url } = git.commit('web', await appTree());
    const deploy = { kind: 'container', app };
    const { id: environmentId } = await platform.environment(teamId, url, { deploy });
    const submitted = await platform.sdk.builds.create(environmentId);
    const built = await platform.endedBuild(environmentId, submitted.id);
    expect(built, built.message).toMatchObject({ state: 'succeeded' });
    expect(built.image).toMatch(new RegExp(`^${host}/${teamId}/`));
    const page = async (address = '') => await (await fetch(`${address}/index.html`)).text();
    expect(await page(built.address)).toBe('hello from the build\n');

    await platform.server.stop('SIGKILL');
    await expect.poll(async () => await registryStatus(host), { timeout: 10_000 }).toBeUndefined();
    next = startProgram('server/dist/main.js', [], {
      PORT: new URL(platform.url).port,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      LOCAL_REGISTRY: 'auto',
      HEARTBEAT_MS: '1000',
    });
    await next.says(/listening on (http:\/\/\S+)/, 60_000);
    await expect.poll(async () => await registryStatus(host), { timeout: 10_000 }).toBe(401);

    // Nothing of it is left on the machine: the rollback pulls.
    await removeApp(app);
    await podman('rmi', '--force', `${built.image}@${built.digest}`);
    const rolled = await platform.sdk.builds.rollback(environmentId, built.id);
    const back = await platform.endedBuild(environmentId, rolled.id);
    expect(back, `${back.message}\n${next.output()}`).toMatchObject({
      state: 'succeeded',
      digest: built.digest,
    });
    expect(await page(back.address)).toBe('hello from the build\n');
    const children = execFileSync('pgrep', ['-c', '-f', `serve ${dataDir}/registry/config.json`]).toString();
    // None is left of the server that was killed. The shell beside it has another command line.
    expect(Number(children)).toBe(1);
  });
});

describe.runIf(there)('a local registry that the machine of a runner does not reach', () => {
  it(
    'ends the build before it clones, with the registry and the ways out',
    { timeout: 120_000 },
    async () => {
      const git = await startGitServer();
      const host = `127.0.0.1:${await freePort()}`;
      const platform = await startPlatform({ LOCAL_REGISTRY: host, HEARTBEAT_MS: '1000' }, 'machine');
      try {
        const teamId = await platform.customerTeam('elsewhere');
        await platform.startRunner(teamId, 'other-machine', RUNNER);
        const { url } = git.commit('web', await appTree());
        const { id } = await platform.environment(teamId, url);
        const build = await platform.endedBuild(id, (await platform.sdk.builds.create(id)).id);
        expect(build).toMatchObject({ state: 'failed', phases: [] });
        expect(build.message).toContain(
          `local registry ${host} is not reached from this machine: nothing listens at ${host}`,
        );
        expect(build.message).toContain(`svc registries add --team ${teamId} --host <host>`);
        expect(build.message).toContain('LOCAL_REGISTRY=<host:port>');
      } finally {
        await platform.stop();
        await git.stop();
      }
    },
  );
});
