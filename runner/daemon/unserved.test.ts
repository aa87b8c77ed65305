/**
 * Stories of a daemon whose control plane serves no runners for a while: the platform feature is off and on
 * again.
 */
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  startProcess,
  startFakeDaemon,
  readState,
  untilReported,
  type RunnerHome,
  type DaemonProcess,
} from '../../test/setup/runner/daemon-process.ts';
import { refusal } from '../../test/setup/runner/fake-control-plane.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { enrolledMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const bundle = useBundle();

/** The server's answer to an unknown route. */
const SWITCHED_OFF = refusal(404, 'not_found', { message: 'there is nothing here' });
const GONE = 'the control plane serves no runners here at present';
const BACK = 'the control plane serves runners here again; going on';
/** The first try comes after 5 to 10 s, the second one after 20 s at most. */
const PATIENCE_MS = 45_000;

const count = (daemon: DaemonProcess, text: string) => daemon.output().split(text).length - 1;
const said = (daemon: DaemonProcess, text: string, ms?: number) =>
  waitFor(text, () => count(daemon, text) > 0, { withinMs: ms });
const ends = (home: RunnerHome) => home.events('end').map(({ epoch, reason }) => `${epoch} ${reason}`);

describe('daemon whose control plane serves no runners for a while', () => {
  it('keeps its state, kills what outlives its lease, says why it waits, and runs the next grant when it is back', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 1_500;
    const run = cp.submit({ command: script({ out: 'x' }, { await: home.file('gate') }, { exit: 0 }) });
    const daemon = startFakeDaemon(bundle(), home);
    await waitFor('the task', () => run.output.length > 0);
    cp.outage = SWITCHED_OFF;
    await said(daemon, GONE);
    await waitFor('the kill', () => ends(home).includes('1 lease_lost'));
    expect(run.reports).toEqual([]);

    const status = startProcess(bundle().main, ['status', '--data-dir', home.dataDir]);
    expect(await status.exited).toBe(0);
    expect(status.output()).toMatch(/^state +waiting for the control plane$/m);
    expect(status.output()).toMatch(
      /^away +no runners are served at that address since \S+ .*next try in \d+ s$/m,
    );
    const calls = cp.calls.length;
    await waitFor('another try', () => cp.calls.length > calls, { withinMs: PATIENCE_MS });
    expect(daemon.child.exitCode).toBeNull();

    cp.outage = undefined;
    writeFileSync(home.file('gate'), '');
    await said(daemon, BACK, PATIENCE_MS);
    await untilReported(cp, run.id);
    expect(ends(home)).toEqual(['1 lease_lost', '2 exit']);
    expect(run.reports).toHaveLength(1);
    expect([count(daemon, GONE), count(daemon, BACK)]).toEqual([1, 1]);
    expect(count(daemon, 'failed, trying again')).toBe(0);
    expect(cp.of('enroll')).toEqual([]);
    await waitFor('a state without absence', () => !('away' in readState(home)));
  }, 120_000);

  it('keeps a result that came meanwhile in its outbox, and delivers it once when it is back in time', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 60_000;
    const run = cp.submit({
      command: script({ out: 'a' }, { await: home.file('gate') }, { out: 'b' }, { exit: 3 }),
    });
    const daemon = startFakeDaemon(bundle(), home);
    await waitFor('the task', () => run.output.length > 0);
    cp.outage = SWITCHED_OFF;
    await said(daemon, GONE);
    writeFileSync(home.file('gate'), '');
    await waitFor('the outbox', () => readState(home).outbox === 1);
    expect(run.reports).toEqual([]);
    cp.outage = undefined;
    await untilReported(cp, run.id, PATIENCE_MS);
    expect(run.report).toMatchObject({ epoch: 1, reason: 'exit', exitCode: 3 });
    expect(run.output.toString()).toBe('ab');
    expect(home.events('start')).toHaveLength(1);
    expect(new Set(run.reports.map(({ reportId }) => reportId)).size).toBe(1);
    expect([count(daemon, GONE), count(daemon, BACK)]).toEqual([1, 1]);
  }, 120_000);

  it('starts and waits while it is off, and stops at once when asked', async () => {
    const { cp, home } = await enrolledMachine();
    cp.outage = SWITCHED_OFF;
    const daemon = startFakeDaemon(bundle(), home);
    await said(daemon, GONE);
    await waitFor('the state', () => 'away' in readState(home));
    expect(await daemon.end('SIGTERM')).toBe(0);
  });
});
