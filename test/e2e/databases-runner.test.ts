/**
 * A database is brought up from end to end: by the server, a real daemon with podman, and PostgreSQL. A
 * person asks for it before the first deploy; its app keeps rows through a deploy and a rollback; nothing of
 * the service knows its password; it stops with its environment, and its content stays on the machine.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGitServer, type GitServer } from '../setup/git-server.ts';
import { has } from '../setup/needs.ts';
import { freePort } from '../setup/registry.ts';
import { podman, removeApp } from '../setup/runner/build-stories.ts';
import { postgresImage, startsCounter } from '../setup/runner/database-image.ts';
import { shareProofs } from '../setup/runner/proofs.ts';
import { waitFor } from '../setup/wait-for.ts';
import { startPlatform, type Platform } from './platform.ts';

const there =
  (await has('postgres')) && (await has('podman')) && (await has('git')) && (await has('registry'));

const WITHIN_MS = 120_000;

describe.runIf(there)('a database of an environment', { timeout: 300_000 }, () => {
  const app = `stored-${randomBytes(4).toString('hex')}`;
  let platform: Platform;
  let git: GitServer;
  let environmentId = '';

  beforeAll(async () => {
    git = await startGitServer();
    const PORT = String(await freePort());
    platform = await startPlatform({ LOCAL_REGISTRY: 'auto', PORT, HEARTBEAT_MS: '1000' }, 'machine');
  }, 120_000);
  afterAll(async () => {
    await platform?.stop();
    await removeApp(app);
    await podman('volume', 'prune', '--force', `--filter=label=svc.environment=${environmentId}`);
    await git?.stop();
  }, 60_000);

  it('is there for its app alone, keeps its rows, and is known to nobody else', async () => {
    const { sdk, folder } = platform;
    const image = await postgresImage();
    const teamId = await platform.customerTeam('stored');
    shareProofs(join(folder, 'stored'));
    const daemon = await platform.startRunner(teamId, 'stored', [
      '--executor',
      'podman',
      '--allow-insecure-git',
      '--databases',
    ]);
    const { url } = git.commit('web', { Dockerfile: startsCounter(image) });
    ({ id: environmentId } = await platform.environment(teamId, url, { deploy: { kind: 'container', app } }));
    const [name = '', imageVersion = ''] = image.split(':');
    const asked = await sdk.database.create(environmentId, 'postgres', { image: name, imageVersion });
    expect(asked.state).toBe('requested');
    const get = async () => await sdk.database.get(environmentId);
    const ready = await waitFor('the database', get, {
      holds: ({ state }) => state === 'ready',
      withinMs: WITHIN_MS,
    });
    expect(ready.digest).toMatch(/^sha256:/);
    const page = async (address: string | undefined): Promise<string> =>
      await waitFor(
        'the page of the app',
        async () => (await (await fetch(`${address}/index.html`)).text()).trim(),
        {
          holds: (text) => /^\d+$/.test(text),
        },
      );
    const first = await platform.endedBuild(environmentId, (await sdk.builds.create(environmentId)).id);
    expect(first, first.message).toMatchObject({ state: 'succeeded' });
    expect(await page(first.address)).toBe('1');
    const second = await platform.endedBuild(environmentId, (await sdk.builds.create(environmentId)).id);
    expect(await page(second.address)).toBe('2');
    const back = await sdk.builds.rollback(environmentId, first.id);
    const rolled = await platform.endedBuild(environmentId, back.id);
    expect(rolled, rolled.message).toMatchObject({ state: 'succeeded' });
    expect(await page(rolled.address)).toBe('3');

    const env = await podman('inspect', '--format={{json .Config.Env}}', `svc-app-${app}`);
    const [, password = ''] = /postgres:\/\/svc:(\w{32})@database:5432\/app/.exec(env) ?? [];
    expect(password).toHaveLength(32);
    const dump = execFileSync('pg_dump', ['--dbname', platform.databaseUrl], { maxBuffer: 1 << 28 });
    expect(dump.includes(asked.id)).toBe(true);
    expect(dump.includes(password)).toBe(false);
    expect(JSON.stringify(await sdk.variables.list(environmentId))).not.toContain(password);

    const dataDir = join(folder, 'stored');
    const backUp = ['runner/bin/svc-runner.mjs', 'database', 'backup', app, '--data-dir', dataDir];
    expect(execFileSync(process.execPath, backUp, { encoding: 'utf8' })).toContain('.dump');
    await waitFor('the word of the backup', async () => (await get()).backup?.goodAt, {
      withinMs: WITHIN_MS,
    });

    await sdk.environments.delete(environmentId);
    // Its network and the rules of that have gone by then.
    await waitFor('the end of the app', () => daemon.output().includes('an app was removed'), {
      withinMs: WITHIN_MS,
    });
    const container = `svc-db-${asked.id}`;
    expect(await podman('ps', '--all', '--quiet', `--filter=name=^${container}$`)).toBe('');
    const volumes = `--filter=label=svc.environment=${environmentId}`;
    expect(await podman('volume', 'ls', '--quiet', volumes)).not.toBe('');
  });
});
