/**
 * Tests which deploys a machine takes, and what it does about apps that have ended, with a program in the
 * engine's place.
 */
import { describe, expect, it } from 'vitest';
import { planned, testContext, testDeployers } from '../../test/setup/runner/build-context.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { appsFinding } from '../doctor/checks/executors.ts';
import type { BuildEngine } from '../executor/executor.ts';
import { isolationArgs } from './app-args.ts';
import { appsOutside, createKeeper } from './app-keeper.ts';

const OFFER = {
  deployImage: `reg.example/web@sha256:${'a'.repeat(64)}`,
  deploy: { kind: 'container' as const, app: 'web', containerPort: 8080 },
};

/** A machine on which apps cannot be contained, each for a reason of its own. */
const UNCONTAINED: [why: string, change: (engine: BuildEngine) => BuildEngine][] = [
  ['podman without root', (engine) => ({ ...engine, rootless: true })],
  ['use podman', (engine) => ({ ...engine, engine: { ...engine.engine, name: 'docker' } })],
  // The program of these tests makes no networks.
  ['networks of podman cannot be listed', (engine) => engine],
];

describe('admit()', () => {
  it.each(UNCONTAINED)('refuses apps of many teams that are not contained (%s)', async (why, change) => {
    const { engine, plan } = await testContext(OFFER);
    const deployers = testDeployers(change(engine), tempDir());
    const target = planned(plan, 'deploy');
    expect(deployers.notReady()).toEqual([]);
    await expect(deployers.admit(target, true)).rejects.toMatchObject({
      name: 'MachineFailed',
      message: expect.stringMatching(
        new RegExp(`^apps are not contained on this machine \\(.*${why}.*--allow-uncontained-apps$`),
      ) as string,
    });
    expect(deployers.notReady()).toEqual([
      'deploys: apps are not contained on this machine, see svc-runner doctor',
    ]);
  });

  it('warns of them on a machine of one team, and where the operator allows them', async () => {
    const { engine, plan } = await testContext(OFFER);
    const target = planned(plan, 'deploy');
    const warned = {
      warnings: [expect.stringMatching(/^warning: apps are not contained on this machine/) as string],
    };
    expect(await testDeployers(engine, tempDir()).admit(target, false)).toEqual(warned);
    const allowing = testDeployers(engine, tempDir(), { allowUncontainedApps: true });
    expect(await allowing.admit(target, true)).toEqual(warned);
    expect(allowing.notReady()).toEqual([]);
  });

  it('opens the network of a machine of one team, never that of many', async () => {
    const { engine, plan } = await testContext(OFFER);
    const target = planned(plan, 'deploy');
    const log = collectedLog();
    const deployers = testDeployers(engine, tempDir(), { appNetwork: 'open', log });
    expect(await deployers.admit(target, false)).toEqual({ warnings: [] });
    await expect(deployers.admit(target, true)).rejects.toThrow('apps are not contained');
    await deployers.restore();
    expect(log.lines).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('--app-network open') as string }),
    );
  });

  it('takes no deploy to Dokku for many teams, and other work after it', async () => {
    const { engine, plan } = await testContext({ ...OFFER, deploy: { ...OFFER.deploy, kind: 'dokku' } });
    const target = planned(plan, 'deploy');
    const deployers = testDeployers(engine, tempDir());
    await expect(deployers.admit(target, true)).rejects.toMatchObject({ name: 'BuildFailed' });
    expect(deployers.notReady()).toEqual([]);
    expect(await deployers.admit(target, false)).toEqual({ warnings: [] });
  });
});

describe('isolationArgs()', () => {
  it('gives users, the filter and the network, and leaves starting again to the runner', async () => {
    const { engine } = (await testContext(OFFER)).engine;
    expect(isolationArgs(engine)).toEqual(['--restart=unless-stopped']);
    const full = { ...engine, ownUsers: { hooksFolder: '/hooks' }, seccompPath: '/seccomp.json' };
    expect(isolationArgs(full, ['--network=own'])).toEqual([
      '--userns=auto:size=65536',
      '--hooks-dir=/hooks',
      '--restart=no',
      '--label=svc.kept=runner',
      '--security-opt=seccomp=/seccomp.json',
      '--network=own',
    ]);
  });
});

/** Prints containers as podman's list does. */
function listing(
  ...apps: { app: string; state: string; name?: string; kept?: boolean; network?: string }[]
): string {
  return JSON.stringify(
    apps.map(({ app, state, name = `svc-app-${app}`, kept = true, network = `svc-app-${app}-0` }) => ({
      Id: `id-${name}`,
      Names: [name],
      State: state,
      Labels: { 'svc.app': app, ...(kept ? { 'svc.kept': 'runner' } : {}) },
      Networks: [network],
    })),
  );
}

describe('createKeeper()', () => {
  it('starts what has ended and serves, but for what is held and what is being deployed', async () => {
    const { engine, fake, calls } = await testContext(OFFER);
    const all = listing(
      { app: 'crashed', state: 'exited' },
      { app: 'held', state: 'paused' },
      { app: 'busy', state: 'exited' },
      { app: 'up', state: 'running' },
      { app: 'old', state: 'exited', kept: false },
      { app: 'next', name: 'svc-app-next.next', state: 'created' },
    );
    fake('podman', `case "$*" in *" ps "*) cat <<'E'\n${all}\nE\n;; esac`);
    const log = collectedLog();
    const keeper = createKeeper({
      engine: engine.engine,
      runnerId: 'rnr_test',
      isBusy: (app) => app === 'busy',
      log,
    });
    expect(await keeper.startEnded()).toEqual(new Set(['crashed', 'held', 'busy', 'up', 'old', 'next']));
    await keeper.startEnded();
    const words = calls('podman').map((call) => call.slice(1));
    expect(words.filter(([verb]) => verb === 'start')).toEqual([
      ['start', 'id-svc-app-crashed'],
      ['start', 'id-svc-app-crashed'],
    ]);
    expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'debug']);
  });

  it('finds the apps that serve outside of a network of their own', async () => {
    const { engine, fake } = await testContext(OFFER);
    const all = listing(
      { app: 'new', state: 'running' },
      { app: 'earlier', state: 'running', network: 'podman' },
    );
    fake('podman', `cat <<'E'\n${all}\nE`);
    const outside = await appsOutside(engine.engine, 'rnr_test');
    expect(outside).toEqual(['earlier']);
    expect(appsFinding({ contained: true, detail: 'x' }, false, outside)).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('earlier') as string,
    });
    expect(appsFinding({ contained: true, detail: 'x' }, false, [])).toEqual({ status: 'ok', detail: 'x' });
    expect(appsFinding({ contained: false, why: 'no iptables' }, false, [])).toMatchObject({
      status: 'warn',
    });
    expect(appsFinding({ contained: true, detail: 'x' }, true, outside).detail).toContain('as configured');
  });
});
