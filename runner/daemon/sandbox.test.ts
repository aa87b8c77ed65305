/**
 * This file tests the released daemon with its real executors: what a task prints, how it is ended, and that
 * nothing of it outlives its daemon's restart.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import {
  makeHome,
  startProcess,
  SOURCE_ENTRY,
  readState,
  untilReported,
  type RunnerHome,
  type DaemonProcess,
} from '../../test/setup/runner/daemon-process.ts';
import { hostCommandLines } from '../../test/setup/runner/executor-fixtures.ts';
import type { FakeRun } from '../../test/setup/runner/fake-runs.ts';
import { socketsOf } from '../../test/setup/runner/open-sockets.ts';
import { controlPlane, enrolledMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { sharedByFile } from '../../test/setup/runner/when-done.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const bundle = useBundle();
const EXECUTORS = [
  { name: 'namespaces', there: await has('namespaces') },
  { name: 'podman', there: await has('podman') },
];

/** Tasks of this machine that sleep for so many seconds. */
const asleep = async (seconds: string): Promise<string[]> =>
  (await hostCommandLines()).filter((line) => line === `sleep ${seconds}`);

const textOf = ({ chunks }: FakeRun, stream: string): string =>
  chunks.flatMap((chunk) => (chunk.stream === stream ? [chunk.text] : [])).join('');

/**
 * Without slots for builds, because a daemon that takes them makes one first, as the proof of its
 * containment.
 */
function startDaemon(home: RunnerHome, executor: string, ...args: string[]): DaemonProcess {
  const own = ['--data-dir', home.dataDir, '--executor', executor, '--build-slots', '0'];
  return startProcess(bundle().main, ['run', ...own, ...args]);
}

for (const { name, there } of EXECUTORS) {
  describe.runIf(there)(`daemon with ${name}`, () => {
    // To start a daemon, which tries out its executor, costs as much as some tasks.
    const machine = sharedByFile(async () => {
      const { cp, home } = await enrolledMachine();
      return { cp, home, daemon: startDaemon(home, name, '--slots', '2') };
    });

    it('runs a command, masks its secrets, and reports exit code and time', async () => {
      const { cp } = machine();
      const run = cp.submit({
        command: ['sh', '-c', 'echo "key $API_KEY"; echo "oops" >&2; exit 7'],
        env: { API_KEY: 'sk-very-secret' },
      });
      await untilReported(cp, run.id, 25_000);
      expect(run.report).toMatchObject({ reason: 'exit', exitCode: 7 });
      expect(run.report?.durationMs).toBeGreaterThan(0);
      expect([textOf(run, 'stdout'), textOf(run, 'stderr')]).toEqual(['key ***\n', 'oops\n']);
    });

    it('listens on no network socket while a task runs, and 2.18 kills it when it is cancelled or over time', async () => {
      const { cp, home, daemon } = machine();
      const cancelled = cp.submit({ command: ['sh', '-c', 'echo begun; sleep 300'] });
      const late = cp.submit({ command: ['sh', '-c', 'sleep 300'], limits: { timeoutSeconds: 2 } });
      await waitFor('the output', () => cancelled.output.length > 0, { withinMs: 25_000 });
      expect(socketsOf(daemon.pid).listening).toEqual([`unix ${join(home.dataDir, 'status.sock')}`]);
      cp.cancel(cancelled.id);
      await untilReported(cp, cancelled.id, 25_000);
      await untilReported(cp, late.id, 25_000);
      expect(cancelled.report).toMatchObject({ reason: 'cancelled' });
      expect(late.report).toMatchObject({ reason: 'timeout' });
    });

    it('2.9 kills what a killed daemon left behind before it takes work again', async () => {
      const cp = await controlPlane();
      // With podman the lease is given back; a sandbox of namespaces may not be on record, so its lease runs
      // out.
      cp.intervals.leaseMs = name === 'podman' ? 600_000 : 2_000;
      const home = makeHome(cp);
      const first = startDaemon(home, name);
      const mark = `31${Date.now() % 1_000_000}`;
      const run = cp.submit({
        command: ['sh', '-c', `echo begun; if [ -z "$AGAIN" ]; then sleep ${mark}; fi`],
      });
      await waitFor('the output', () => run.output.length > 0, { withinMs: 25_000 });
      await waitFor('the task', async () => (await asleep(mark)).length === 1);
      await first.end('SIGKILL');
      run.spec.env = { AGAIN: 'yes' };
      startDaemon(home, name);
      await untilReported(cp, run.id, 25_000);
      expect(await asleep(mark)).toEqual([]);
      expect(run.epoch).toBe(2);
      expect(run.reports).toHaveLength(1);
    });
  });
}

describe.runIf(EXECUTORS[0]?.there === true)('daemon in a checkout', () => {
  it('runs from its sources, heartbeat thread included', async () => {
    const { cp, home } = await enrolledMachine();
    startProcess(SOURCE_ENTRY, ['run', '--data-dir', home.dataDir, '--executor', 'namespaces']);
    const run = cp.submit({ command: ['true'] });
    await untilReported(cp, run.id, 25_000);
    expect(run.report).toMatchObject({ reason: 'exit', exitCode: 0 });
  });
});

describe.runIf(EXECUTORS.every(({ there }) => there))('daemon that changes its executor', () => {
  it('2.9 still kills what the one before left behind', async () => {
    const { cp, home } = await enrolledMachine();
    const first = startDaemon(home, 'podman');
    const mark = `32${Date.now() % 1_000_000}`;
    const run = cp.submit({ command: ['sh', '-c', `echo begun; sleep ${mark}`] });
    await waitFor('the output', () => run.output.length > 0, { withinMs: 25_000 });
    await waitFor('the state file', () => readState(home).pid === first.pid);
    await first.end('SIGKILL');
    const second = startDaemon(home, 'namespaces');
    await waitFor(
      'the reaping',
      () => second.output().includes('killed what an earlier process left behind'),
      { withinMs: 25_000 },
    );
    expect(await asleep(mark)).toEqual([]);
  });
});
