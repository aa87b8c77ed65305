/**
 * Stories of a daemon that is cut off, frozen or half deaf for a while, and of what it leaves on its disk.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startFakeDaemon, untilReported } from '../../test/setup/runner/daemon-process.ts';
import { refusal } from '../../test/setup/runner/fake-control-plane.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { enrolledMachine, startedMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const bundle = useBundle();

describe('daemon, cut off for a while', () => {
  it('2.11 frozen for longer than its lease: kills its task when it wakes up, reports nothing, and runs the next grant', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 1_500;
    const run = cp.submit({ command: script({ out: 'x' }, { await: home.file('gate') }, { exit: 0 }) });
    const daemon = startFakeDaemon(bundle(), home);
    await waitFor('the task', () => run.output.length > 0);
    // The epoch is more than 1 on a machine that was too busy to start the first grant within its lease.
    const frozen = run.epoch;
    const ends = () =>
      home
        .events('end')
        .filter(({ epoch }) => epoch >= frozen)
        .map(({ epoch, reason }) => `${epoch - frozen} ${reason}`);
    daemon.kill('SIGSTOP');
    await waitFor(
      'the end of the lease',
      () => run.epoch > frozen || run.expiresAtMs + 300 < performance.now(),
    );
    // The next grant has time to start, however busy the machine.
    cp.intervals.leaseMs = 6_000;
    daemon.kill('SIGCONT');
    await expect.poll(ends).toEqual(['0 lease_lost']);
    expect(run.reports).toEqual([]);
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(run.epoch).toBe(frozen + 1);
    expect(ends()).toEqual(['0 lease_lost', '1 exit']);
    expect(run.reports).toHaveLength(1);
  });

  it('2.10 heard but deaf: every answer is lost for a while, and still the run is executed and reported once', async () => {
    const { cp, home } = await enrolledMachine();
    const run = cp.submit({
      command: script({ out: 'a'.repeat(1000) }, { await: home.file('gate') }, { out: 'b' }, { exit: 4 }),
    });
    startFakeDaemon(bundle(), home);
    await waitFor('the output', () => run.output.length === 1000);
    cp.outage = 'lose_answer';
    writeFileSync(home.file('gate'), '');
    await waitFor(
      'a few lost answers to each',
      () => cp.of('logs').length > 4 && cp.of('heartbeat').length > 4,
    );
    cp.outage = undefined;
    await waitFor('the end', () => run.report !== undefined);
    expect(run.output.toString()).toBe(`${'a'.repeat(1000)}b`);
    expect(run.epoch).toBe(1);
    expect(new Set(run.reports.map((report) => report.reportId)).size).toBe(1);
    expect(home.events('start')).toHaveLength(1);
    // The daemon takes work as before.
    await untilReported(cp, cp.submit().id);
  });

  it("2.8 goes on when the control plane's clock jumps under a running task", async () => {
    const { cp, home } = await enrolledMachine();
    const run = cp.submit({ command: script({ out: 'x' }, { await: home.file('gate') }, { exit: 0 }) });
    startFakeDaemon(bundle(), home);
    await waitFor('the output', () => run.output.length > 0);
    for (const hours of [1, -1]) {
      cp.clockMs = hours * 3_600_000;
      const beats = () => cp.of('heartbeat').filter((call) => call.status === 200).length;
      const before = beats();
      await waitFor('heartbeats', () => beats() > before + 1);
    }
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(run.epoch).toBe(1);
  });
});

/** A file that is written beside its place and moved there is examined there, by the name that it gets. */
function filesIn(folder: string): Array<{ name: string; mode: number; text: string }> {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.tmp'))
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return { name, mode: statSync(path).mode, text: readFileSync(path, 'utf8') };
    });
}

describe('daemon and what it keeps', () => {
  it('2.15 leaves no secret of a run in any file of its own nor in its log', async () => {
    const { cp, home, daemon } = await startedMachine(bundle(), { args: ['--log-level', 'debug'] });
    // Delivery is held up, so that spool and outbox are still there to be examined.
    cp.script('logs', ...Array.from({ length: 200 }, () => refusal(503, 'unavailable')));
    const secrets = { API_KEY: 'canary-one-8fj2', MULTI: 'canary-two-9dk3\nsecond-line-4hs7' };
    const run = cp.submit({
      env: secrets,
      stdin: 'canary-stdin-1kd8',
      command: script(
        { out: `${secrets.API_KEY} ${secrets.MULTI} second-line-4hs7` },
        { fail: `cannot pull with ${secrets.API_KEY}` },
      ),
    });
    await waitFor(
      'the outbox',
      () =>
        existsSync(join(home.dataDir, 'outbox', `${run.id}-1.json`)) &&
        existsSync(join(home.dataDir, 'state.json')),
    );
    const files = filesIn(home.dataDir);
    expect(files.map((file) => file.name)).toEqual(
      expect.arrayContaining(['journal.jsonl', `${run.id}-1.json`, `${run.id}-1.log`, 'state.json']),
    );
    const kept = [daemon.output(), ...files.map((file) => file.text)].join('\n');
    for (const canary of ['canary-one', 'canary-two', 'second-line', 'canary-stdin'])
      expect(kept).not.toContain(canary);
    expect(kept).toContain('*** *** ***');
    const key = readFileSync(join(home.dataDir, 'key.pem'), 'utf8').split('\n')[1] ?? 'x';
    expect(daemon.output()).not.toContain(key);
    for (const { name, mode } of files) expect(mode & 0o077, name).toBe(0);
    cp.unscript();
    await untilReported(cp, run.id, 25_000);
  });
});
