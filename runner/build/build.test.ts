import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testContext, testDeployers, uncontainedBuilder } from '../../test/setup/runner/build-context.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { startBuild } from './build.ts';

describe('startBuild()', () => {
  it('measures until everything is cleaned up, as the control plane does', async () => {
    const { plan, workspace, engine, runnerId, env, fake, calls } = await testContext({
      deployImage: `reg.example/web@sha256:${'a'.repeat(64)}`,
      deploy: { kind: 'container', app: 'web', containerPort: 8080 },
    });
    const cleaningMs = 300;
    fake('podman', `sleep ${cleaningMs / 1_000}`);
    const options = {
      host: { dataDir: dirname(dirname(workspace.folder)), runnerId, engine },
      builder: uncontainedBuilder(),
      deployers: testDeployers(engine, dirname(dirname(workspace.folder)), { appNetwork: 'open' }),
      executor: { start: () => Promise.reject(new Error('no steps here')) },
      env,
      caFile: undefined,
      deployAddress: '127.0.0.1',
      deployLimits: { memoryMb: 64, cpus: 1, pids: 64 },
      log: collectedLog(),
    };
    const build = startBuild(plan, options, {
      ref: plan,
      onOutput: async () => undefined,
      enter: () => Promise.reject(new Error('the journal cannot be written')),
    });
    const { reason, durationMs } = await build.done;
    expect(calls('podman')).toEqual([
      expect.arrayContaining(['ps', '--external']),
      // The prune removes images of earlier deploys that nothing runs any more.
      expect.arrayContaining(['prune', '--filter=label=svc.work', '--filter=until=25h']),
    ]);
    expect(reason).toBe('engine_error');
    expect(durationMs).toBeGreaterThanOrEqual(cleaningMs);
  });

  it('builds nothing for many teams where builds are not contained, and takes no more of them', async () => {
    const { plan, workspace, engine, runnerId, env, fake, calls } = await testContext({
      source: { repository: 'https://git.example/x.git', branch: 'main' },
      shared: true,
    });
    fake('podman');
    fake('git');
    const reasons: string[] = [];
    const said: string[] = [];
    const build = startBuild(
      plan,
      {
        host: { dataDir: dirname(dirname(workspace.folder)), runnerId, engine },
        deployers: testDeployers(engine, dirname(dirname(workspace.folder))),
        builder: { ...uncontainedBuilder(), noteRefusal: (reason) => void reasons.push(reason) },
        executor: { start: () => Promise.reject(new Error('no steps here')) },
        env,
        caFile: undefined,
        deployAddress: '127.0.0.1',
        deployLimits: { memoryMb: 64, cpus: 1, pids: 64 },
        log: collectedLog(),
      },
      {
        ref: plan,
        onOutput: async (_stream, chunk) => void said.push(Buffer.from(chunk).toString()),
        enter: async () => undefined,
      },
    );
    expect(await build.done).toMatchObject({
      reason: 'engine_error',
      message: expect.stringContaining('a machine that builds for many teams refuses them') as string,
    });
    expect(calls('git')).toEqual([]);
    expect(reasons).toEqual(['builds: not contained on this machine, see svc-runner doctor']);
  });

  it('deploys nothing for many teams where apps are not contained, and begins no build for it', async () => {
    const { plan, workspace, engine, runnerId, env, fake, calls } = await testContext({
      deployImage: `reg.example/web@sha256:${'a'.repeat(64)}`,
      deploy: { kind: 'container', app: 'web', containerPort: 8080 },
      shared: true,
    });
    fake('podman');
    const dataDir = dirname(dirname(workspace.folder));
    const build = startBuild(
      plan,
      {
        host: { dataDir, runnerId, engine },
        deployers: testDeployers(engine, dataDir),
        // The operator let builds be uncontained, and not apps.
        builder: { ...uncontainedBuilder(), allowUncontained: true },
        executor: { start: () => Promise.reject(new Error('no steps here')) },
        env,
        caFile: undefined,
        deployAddress: '127.0.0.1',
        deployLimits: { memoryMb: 64, cpus: 1, pids: 64 },
        log: collectedLog(),
      },
      { ref: plan, onOutput: async () => undefined, enter: async () => undefined },
    );
    expect(await build.done).toMatchObject({
      reason: 'engine_error',
      message: expect.stringContaining('a machine that many teams deploy to refuses them') as string,
    });
    expect(calls('podman').flat()).not.toEqual(expect.arrayContaining(['run']));
  });
});
