import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  SOURCE,
  testContext,
  testDeployers,
  uncontainedBuilder,
  type TestContext,
} from '../../test/setup/runner/build-context.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import type { BuildOffer } from '../control-plane/wire.ts';
import type { RunningWork } from '../work/run-work.ts';
import { startBuild } from './build.ts';
import type { Builder } from './builder.ts';

const DEPLOY: Partial<BuildOffer> = {
  deployImage: `reg.example/web@sha256:${'a'.repeat(64)}`,
  deploy: { kind: 'container', app: 'web', containerPort: 8080 },
};

/** Starts the build of a context on a machine that cannot contain it. */
function start(
  { plan, workspace, engine, runnerId, env }: TestContext,
  {
    builder,
    apps,
    enter,
  }: {
    builder?: Partial<Builder>;
    apps?: Parameters<typeof testDeployers>[2];
    enter?: () => Promise<void>;
  } = {},
): RunningWork {
  const dataDir = dirname(dirname(workspace.folder));
  const options = {
    host: { dataDir, runnerId, engine },
    builder: { ...uncontainedBuilder(), ...builder },
    deployers: testDeployers(engine, dataDir, apps),
    executor: { start: () => Promise.reject(new Error('no steps here')) },
    env,
    caFile: undefined,
    testDatabases: undefined,
    deployAddress: '127.0.0.1',
    deployLimits: { memoryMb: 64, cpus: 1, pids: 64 },
    log: collectedLog(),
  };
  const nothing = async () => undefined;
  return startBuild(plan, options, { ref: plan, onOutput: nothing, enter: enter ?? nothing });
}

describe('startBuild()', () => {
  it('measures until everything is cleaned up, as the control plane does', async () => {
    const context = await testContext(DEPLOY);
    const cleaningMs = 300;
    context.fake('podman', `sleep ${cleaningMs / 1_000}`);
    const build = start(context, {
      apps: { appNetwork: 'open' },
      enter: () => Promise.reject(new Error('the journal cannot be written')),
    });
    const { reason, durationMs } = await build.done;
    expect(context.calls('podman')).toEqual([
      expect.arrayContaining(['ps', '--external']),
      expect.arrayContaining(['prune', '--filter=label=svc.work', '--filter=until=25h']),
    ]);
    expect(reason).toBe('engine_error');
    expect(durationMs).toBeGreaterThanOrEqual(cleaningMs);
  });

  it('builds nothing for many teams where builds are not contained, and takes no more of them', async () => {
    const context = await testContext({ ...SOURCE, shared: true });
    context.fake('podman');
    context.fake('git');
    const reasons: string[] = [];
    const build = start(context, { builder: { noteRefusal: (reason) => void reasons.push(reason) } });
    expect(await build.done).toMatchObject({
      reason: 'engine_error',
      message: expect.stringContaining('a machine that builds for many teams refuses them') as string,
    });
    expect(context.calls('git')).toEqual([]);
    expect(reasons).toEqual(['builds: not contained on this machine, see svc-runner doctor']);
  });

  it('deploys nothing for many teams where apps are not contained, and begins no build for it', async () => {
    const context = await testContext({ ...DEPLOY, shared: true });
    context.fake('podman');
    const build = start(context, { builder: { allowUncontained: true } });
    expect(await build.done).toMatchObject({
      reason: 'engine_error',
      message: expect.stringContaining('a machine that many teams deploy to refuses them') as string,
    });
    expect(context.calls('podman').flat()).not.toEqual(expect.arrayContaining(['run']));
  });
});
