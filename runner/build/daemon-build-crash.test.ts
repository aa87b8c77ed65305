/**
 * The daemon is killed in each phase of a build: the next one leaves nothing of it behind, and neither pushes
 * nor deploys it again.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFailed } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import {
  appTree,
  brokenApp,
  BUILD_MS,
  built,
  folders,
  imageIn,
  orphans,
  pageOf,
  registry,
  removeAppWhenDone,
  removeImagesAfterAll,
  repository,
  startBuilder,
} from '../../test/setup/runner/build-stories.ts';
import { untilReported, type DaemonProcess } from '../../test/setup/runner/daemon-process.ts';
import { enrolledMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { hostProcesses } from '../../test/setup/runner/executor-fixtures.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git')) && (await has('registry'));

/** Processes of this machine whose command line or environment holds the mark. */
async function processesWith(mark: string): Promise<string[]> {
  const found = (await hostProcesses()).map(async ({ pid, line }) => {
    // It may have ended meanwhile.
    const text = `${line} ${await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')}`;
    return Number(pid) !== process.pid && text.includes(mark) ? [line] : [];
  });
  return (await Promise.all(found)).flat();
}

async function start() {
  const { cp, home } = await enrolledMachine();
  cp.intervals.leaseMs = 5_000;
  const daemons: DaemonProcess[] = [];
  onTestFailed(() => console.error(...daemons.map((daemon) => daemon.output())));
  const startDaemon = () => {
    const daemon = startBuilder(bundle(), home);
    daemons.push(daemon);
    return daemon;
  };
  /** Nothing of a dead build is left: no process, container, clone or secret. */
  const untilClean = async (id: string) => {
    await waitFor(
      'a clean machine',
      async () =>
        folders(home).length === 0 &&
        (await processesWith(`-${id}-1`)).length === 0 &&
        (await orphans(home, cp.runnerId)).length === 0,
      { withinMs: BUILD_MS },
    );
  };
  return { cp, home, startDaemon, untilClean };
}

describe.runIf(there)('daemon killed with SIGKILL in a build', { timeout: 400_000 }, () => {
  it('2.9 while cloning: git is killed, the clone is gone, and the next grant builds', async () => {
    const { cp, startDaemon, untilClean } = await start();
    const { git, source } = await repository();
    git.hanging = true;
    const first = startDaemon();
    const build = cp.submitBuild({ source });
    await waitFor('the request', () => git.requests.length > 0, { withinMs: BUILD_MS });
    await first.end('SIGKILL');
    expect(await processesWith(`-${build.id}-1`)).not.toEqual([]);
    git.hanging = false;
    const second = startDaemon();
    await untilReported(cp, build.id, BUILD_MS);
    await untilClean(build.id);
    expect(build).toMatchObject({ epoch: 2, complete: true, report: { reason: 'exit', exitCode: 0 } });
    expect(second.output()).toContain('killed and removed what an earlier process left of a build');
  });

  it('2.9 while building: the container of the step is killed and removed, and the next grant builds', async () => {
    const { cp, startDaemon, untilClean } = await start();
    const seconds = `7${process.pid}`;
    const { git, source } = await repository(
      await appTree({
        Dockerfile: `FROM scratch\nCOPY busybox /bin/busybox\nRUN ["/bin/busybox", "sleep", "${seconds}"]\n`,
      }),
    );
    const first = startDaemon();
    const build = cp.submitBuild({ source });
    const asleep = async () => await processesWith(`/bin/busybox sleep ${seconds}`);
    await waitFor(
      'the step',
      async () => (await asleep()).length > 0 && build.output.toString().includes('STEP 3/'),
      {
        withinMs: BUILD_MS,
      },
    );
    const said = build.output.toString();
    for (const line of ['==> cloning: ', '==> at commit ', '==> building: ', 'STEP 1/', 'STEP 2/'])
      expect(said).toContain(line);
    await first.end('SIGKILL');
    git.commit('web', await appTree());
    startDaemon();
    await untilReported(cp, build.id, BUILD_MS);
    expect(await asleep()).toEqual([]);
    await untilClean(build.id);
    expect(build.report?.message).toBeUndefined();
    expect(build).toMatchObject({ epoch: 2, report: { reason: 'exit', exitCode: 0 } });
  });

  it('2.11 while publishing: nothing is pushed again, and the output is whole', async () => {
    const { cp, startDaemon, untilClean } = await start();
    const [{ source }, images] = [await repository(), await registry()];
    images.hold('PUT', '/manifests/');
    const first = startDaemon();
    const build = cp.submitBuild({ source, image: imageIn(images, '1') });
    await waitFor('the push', () => images.waiting === 1, { withinMs: BUILD_MS });
    await first.end('SIGKILL');
    const second = startDaemon();
    await untilClean(build.id);
    await waitFor('the end of the lease', () => build.state !== 'running', { withinMs: BUILD_MS });
    images.release();
    const next = await built(cp, { source });
    expect(next.report).toMatchObject({ exitCode: 0 });
    expect(images.pushes).toEqual([]);
    expect(build).toMatchObject({ epoch: 1, state: 'ended', complete: true, reports: [] });
    const output = build.output.toString();
    expect(output).toContain('COMMIT');
    expect(output).toContain(`==> publishing: pushing ${images.host}/acme/web:1\n`);
    expect(output).toMatch(/==> the runner's daemon died here\n$/);
    expect(second.output()).toContain('it is not done again here, the control plane decides');
  });

  it('2.11 while deploying: what served before serves, nothing is deployed or pushed again', async () => {
    const { cp, home, startDaemon, untilClean } = await start();
    const [{ git, source }, images] = [await repository(), await registry()];
    const name = `k${randomBytes(4).toString('hex')}`;
    removeAppWhenDone(name);
    const deploy = { kind: 'container', app: name, containerPort: 8080 } as const;
    const first = startDaemon();
    const good = await built(cp, { source, image: imageIn(images, '1'), deploy });
    // The app stays up and never opens its port, so that the build is long enough in this phase to be killed
    // there.
    git.commit('web', brokenApp('sleep', '600'));
    const build = cp.submitBuild({ source, image: imageIn(images, '2'), deploy });
    await waitFor('the deploy', () => build.phases.includes('deploying'), { withinMs: BUILD_MS });
    await waitFor(
      'the try',
      async () =>
        (await orphans(home, cp.runnerId)).some((line) => line.startsWith(`svc-app-${name}.next Up`)),
      { withinMs: BUILD_MS },
    );
    await first.end('SIGKILL');
    const second = startDaemon();
    await untilClean(build.id);
    await waitFor('the end of the lease', () => build.state === 'ended', { withinMs: BUILD_MS });
    await waitFor('the end of the output', () => build.complete, { withinMs: BUILD_MS });
    expect(await pageOf(good)).toBe('hello from the build\n');
    expect(images.pushes).toEqual(['acme/web:1', 'acme/web:2']);
    expect(build).toMatchObject({ epoch: 1, complete: true, reports: [] });
    expect(build.output.toString()).toContain('==> deploying: ');
    expect(second.output()).toContain('what served before it serves again');
  });
});
