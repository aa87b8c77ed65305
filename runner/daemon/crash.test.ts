/**
 * The daemon is killed at every step of a run; the next process must neither lose a result nor run or report
 * anything twice.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  startProcess,
  startFakeDaemon,
  readState,
  journalEvents,
  untilReported,
} from '../../test/setup/runner/daemon-process.ts';
import { refusal } from '../../test/setup/runner/fake-control-plane.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { enrolledMachine, startedMachine, useBundle } from '../../test/setup/runner/stories.ts';
import type { HeartbeatRequest } from '../control-plane/wire.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const bundle = useBundle();

describe('daemon killed with SIGKILL', () => {
  it.each(['offered', 'accepted', 'started'])(
    'after the journal said %s: the run is executed again by its next grant, and reported once',
    async (event) => {
      const { cp, home } = await enrolledMachine();
      cp.intervals.leaseMs = 1_500;
      cp.offerMs = 1_000;
      const run = cp.submit({ command: script({ out: 'done' }, { exit: 0 }) });
      expect(await startFakeDaemon(bundle(), home, { env: { CRASH_AFTER: event } }).exited).toBe('SIGKILL');
      expect(run.reports).toEqual([]);
      startFakeDaemon(bundle(), home);
      await untilReported(cp, run.id);
      expect(run.epoch).toBe(2);
      expect(run.reports).toHaveLength(1);
      expect(run.output.toString()).toBe('done');
      expect(home.events('start').map((entry) => entry.epoch)).toEqual([2]);
      expect(journalEvents(home, run.id)).toContain('dropped');
    },
  );

  it('after the journal said ended: the result comes from the outbox, with all output, without running again', async () => {
    const { cp, home } = await enrolledMachine();
    // The appends fail, so that the output is not delivered before the crash.
    cp.script('logs', ...Array.from({ length: 3 }, () => 'reset' as const));
    const run = cp.submit({
      command: script({ out: `${'a'.repeat(99)}\n`.repeat(3_000) }, { err: 'b' }, { exit: 7 }),
    });
    expect(await startFakeDaemon(bundle(), home, { env: { CRASH_AFTER: 'ended' } }).exited).toBe('SIGKILL');
    expect(run.reports).toEqual([]);
    startFakeDaemon(bundle(), home);
    await untilReported(cp, run.id);
    expect(run.epoch).toBe(1);
    expect(run.report).toMatchObject({ reason: 'exit', exitCode: 7 });
    expect(run.report?.waitedMs).toBeGreaterThan(0);
    expect(run.complete).toBe(true);
    expect(run.output.length).toBe(300_001);
    expect(home.events('start')).toHaveLength(1);
  });

  it('after the journal said reported: nothing is sent again', async () => {
    const { cp, home } = await enrolledMachine();
    const run = cp.submit({ command: script({ exit: 0 }) });
    expect(await startFakeDaemon(bundle(), home, { env: { CRASH_AFTER: 'reported' } }).exited).toBe(
      'SIGKILL',
    );
    expect(run.reports).toHaveLength(1);
    startFakeDaemon(bundle(), home);
    const kept = join(home.dataDir, 'outbox', `${run.id}-1.json`);
    await waitFor('the cleaned outbox', () => readState(home).outbox === 0 && !existsSync(kept));
    const next = cp.submit();
    await untilReported(cp, next.id);
    expect(run.reports).toHaveLength(1);
  });

  it('2.10 between the answer to the report and its note: the same report again, which changes nothing', async () => {
    const { cp, home } = await enrolledMachine();
    cp.script('report', 'lose_answer', 'hang');
    const run = cp.submit({ command: script({ exit: 0 }) });
    const first = startFakeDaemon(bundle(), home);
    await waitFor('the repetition', () => cp.of('report').length === 2);
    await first.end('SIGKILL');
    startFakeDaemon(bundle(), home);
    await waitFor('the end', () =>
      journalEvents(home, run.id).some((event) => event === 'reported' || event === 'dropped'),
    );
    expect(new Set(run.reports.map((report) => report.reportId)).size).toBe(1);
    expect(home.events('start')).toHaveLength(1);
  });

  it('2.9 while a task runs: its container is reaped before anything new is taken', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 1_500;
    const run = cp.submit({ command: script({ out: 'partial' }, { await: home.file('gate') }, { exit: 0 }) });
    const first = startFakeDaemon(bundle(), home);
    await waitFor('the task', () => home.events('start').length > 0);
    await first.end('SIGKILL');
    expect(existsSync(join(home.executorDir, 'containers', `${run.id}@1`))).toBe(true);
    const second = startFakeDaemon(bundle(), home);
    await waitFor('the second start', () => home.events('start').length === 2);
    expect(home.events().map((entry) => `${entry.event} ${entry.epoch}`)).toEqual([
      'start 1',
      'reap 1',
      'start 2',
    ]);
    expect(second.output()).toContain('goes back to the queue');
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(run.reports).toHaveLength(1);
    expect(run.output.toString()).toBe('partial');
  });

  it('while a task runs: its lease is given back when its container is gone, and nobody waits for its end', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 600_000;
    const run = cp.submit({ command: script({ out: 'once' }, { await: home.file('gate') }, { exit: 0 }) });
    const first = startFakeDaemon(bundle(), home);
    await waitFor('the task', () => home.events('start').length > 0);
    await first.end('SIGKILL');
    startFakeDaemon(bundle(), home);
    await waitFor('the second start', () => run.epoch === 2 && run.state === 'running');
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(home.events().map((entry) => `${entry.event} ${entry.epoch}`)).toEqual([
      'start 1',
      'reap 1',
      'start 2',
      'end 2',
    ]);
    expect(run.reports).toHaveLength(1);
  });

  it('gives nothing back of a process of another machine, from which its data folder was copied', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 600_000;
    const run = cp.submit({ command: script({ hang: true }) });
    const first = startFakeDaemon(bundle(), home);
    await waitFor('the task', () => home.events('start').length > 0);
    await first.end('SIGKILL');
    const journal = join(home.dataDir, 'journal.jsonl');
    const lines = readFileSync(journal, 'utf8');
    expect(lines).toContain('"machineBoot":"');
    writeFileSync(journal, lines.replaceAll(/"machineBoot":"[^"]*"/g, '"machineBoot":"another"'));
    startFakeDaemon(bundle(), home);
    const beats = () => cp.of<HeartbeatRequest>('heartbeat').filter(({ body }) => body.bootId === cp.boot);
    const boot = cp.boot;
    await waitFor('heartbeats of the second process', () => cp.boot !== boot && beats().length > 2);
    expect(cp.of<HeartbeatRequest>('heartbeat').some(({ body }) => body.givenBack !== undefined)).toBe(false);
    expect([run.epoch, run.state]).toEqual([1, 'running']);
  });

  it('2.7 the next process takes the identity over at once, and a second one on the same folder is refused', async () => {
    const { cp, home, daemon: first } = await startedMachine(bundle());
    await waitFor('contact', () => cp.boot !== undefined);
    const rival = startFakeDaemon(bundle(), home);
    await waitFor('the refusal', () => rival.output().includes(`another daemon (pid ${first.pid})`));
    expect(await rival.exited).not.toBe(0);
    const boot = cp.boot;
    await first.end('SIGKILL');
    startFakeDaemon(bundle(), home);
    await waitFor('the new boot', () => cp.boot !== boot);
  });

  it('2.7 a process that another one took over kills its task and exits with 6', async () => {
    const { cp, home, daemon } = await startedMachine(bundle());
    const run = cp.submit({ command: script({ hang: true }) });
    await waitFor('the task', () => home.events('start').length > 0);
    // The reply is the one that a copy of the data folder on another machine would cause.
    cp.script('heartbeat', refusal(409, 'boot_superseded', { message: 'a newer process took over' }));
    expect(await daemon.exited).toBe(6);
    expect(home.events().at(-1)).toMatchObject({ event: 'end', reason: 'lease_lost' });
    expect(run.reports).toEqual([]);
    expect(daemon.output()).toContain('another process took this runner over');
  });
});

describe('status and lock after a crash', () => {
  it('says that nothing runs and how much waits', async () => {
    const { cp, home } = await enrolledMachine();
    cp.submit({ command: script({ exit: 0 }) });
    await startFakeDaemon(bundle(), home, { env: { CRASH_AFTER: 'ended' } }).exited;
    const status = startProcess(bundle().main, ['status', '--data-dir', home.dataDir]);
    expect(await status.exited).toBe(1);
    expect(status.output()).toContain('not running');
  });
});
