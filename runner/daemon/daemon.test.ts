/** Stories of the whole daemon as a process, against a control plane that keeps the protocol. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  makeHome,
  startProcess,
  startFakeDaemon,
  readState,
  journalEvents,
  untilReported,
} from '../../test/setup/runner/daemon-process.ts';
import { refusal } from '../../test/setup/runner/fake-control-plane.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { controlPlane, enrolledMachine, startedMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type { HeartbeatRequest, LogsRequest, PollRequest } from '../control-plane/wire.ts';
import { TIMED } from '../../test/setup/timed.ts';

const bundle = useBundle();

describe('daemon', () => {
  it('takes a run, streams its output, reports it, and drains on SIGTERM', async () => {
    const { cp, home, daemon } = await startedMachine(bundle());
    const run = cp.submit({ command: script({ out: 'one\n' }, { err: 'two\n' }, { exit: 3 }) });
    await untilReported(cp, run.id);
    expect(run.report).toMatchObject({ reason: 'exit', exitCode: 3 });
    expect(run.chunks).toEqual([
      { stream: 'stdout', text: 'one\n' },
      { stream: 'stderr', text: 'two\n' },
    ]);
    expect(run.complete).toBe(true);
    await waitFor('the journal', () => journalEvents(home, run.id).at(-1) === 'reported');
    expect(journalEvents(home, run.id)).toEqual(['offered', 'accepted', 'started', 'ended', 'reported']);
    for (const folder of ['spool', 'outbox'])
      await waitFor(`the empty ${folder}`, () => readdirSync(join(home.dataDir, folder)).length === 0);
    expect(await daemon.end('SIGTERM')).toBe(0);
    const beats = cp.of<HeartbeatRequest>('heartbeat').map((call) => call.body);
    expect(beats[0]).toMatchObject({
      facts: { version: '0.10.0', isolation: 'namespaces' },
      labels: { zone: 'a' },
    });
    expect(beats[1]?.facts).toBeUndefined();
    expect(beats.at(-1)).toMatchObject({ draining: true, leases: [] });
  });

  it('runs as many at a time as it has slots, with one poll at a time', async () => {
    const { cp, home } = await startedMachine(bundle(), { args: ['--slots', '3'] });
    const gate = home.file('gate');
    const runs = [1, 2, 3, 4].map(() => cp.submit({ command: script({ await: gate }) }));
    await waitFor('three runs', () => runs.filter((run) => run.state === 'running').length === 3);
    await waitFor('one heartbeat with all leases', () =>
      cp.of<HeartbeatRequest>('heartbeat').some((call) => call.body.leases.length === 3),
    );
    expect(runs.filter((run) => run.state === 'queued')).toHaveLength(1);
    writeFileSync(gate, '');
    for (const run of runs) await untilReported(cp, run.id);
    const slots = cp.of<PollRequest>('poll').map((call) => call.body.slots);
    expect(Math.max(...slots)).toBe(3);
    expect(Math.min(...slots)).toBe(1);
    const pollIds = cp.of<PollRequest>('poll').map((call) => call.body.pollId);
    expect(new Set(pollIds).size).toBe(pollIds.length);
  });

  it('takes several runs by one poll, and reports together what ends together', async () => {
    const { cp, home } = await enrolledMachine();
    cp.takesMany = true;
    const gate = home.file('gate');
    const runs = [1, 2, 3, 4].map((n) =>
      cp.submit({ command: script({ await: gate }, { out: `run ${n}` }) }),
    );
    startFakeDaemon(bundle(), home, { args: ['--slots', '4'] });
    await waitFor('four runs', () => runs.every((run) => run.state === 'running'));
    const [first] = cp.of<PollRequest>('poll');
    expect(first?.body).toMatchObject({ slots: 4, offersMax: 4 });
    expect(cp.of('poll').length).toBe(1);
    writeFileSync(gate, '');
    for (const run of runs) await untilReported(cp, run.id);
    expect(runs.map((run) => run.output.toString())).toEqual(
      runs.map((_, at) => expect.stringContaining(`run ${at + 1}`) as string),
    );
    const alone = cp.of('report').length;
    const together = cp.of<{ reports: object[] }>('reports-of-many').map((call) => call.body.reports.length);
    expect(alone + together.reduce((sum, count) => sum + count, 0)).toBe(4);
  });

  it('sends the first output of a running task within a second', TIMED, async () => {
    const { cp, home } = await startedMachine(bundle());
    const run = cp.submit({
      command: script({ out: 'early' }, { await: home.file('gate') }, { out: 'late' }),
    });
    await waitFor('the start', () => home.events('start').length > 0);
    const startedMs = performance.now();
    await waitFor('the first output', () => run.output.length > 0);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(run.state).toBe('running');
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(run.output.toString()).toBe('earlylate');
  });

  it('2.4 delivers the last output before the result', async () => {
    const { cp } = await startedMachine(bundle());
    cp.script('logs', refusal(503, 'unavailable'), refusal(503, 'unavailable'));
    const run = cp.submit({ command: script({ out: `${'x'.repeat(99)}\n`.repeat(6_000) }, { exit: 0 }) });
    await untilReported(cp, run.id);
    expect(run.output.length).toBe(600_000);
    const names = cp.calls.map((call) => call.name).filter((name) => name === 'logs' || name === 'report');
    expect(names.indexOf('report')).toBe(names.length - 1);
    expect(cp.of<LogsRequest>('logs').at(-1)?.body.end).toMatchObject({ bytes: 600_000 });
  });

  it("2.15 strikes the run's secrets out before anything is written or sent", async () => {
    const { cp } = await startedMachine(bundle(), {
      env: { HTTPS_PROXY: 'http://user:proxy-password@127.0.0.1:1' },
    });
    const env = { API_KEY: 'sk-very-secret-1234' };
    const run = cp.submit({
      env,
      command: script(
        { out: 'key=sk-very-' },
        { out: 'secret-1234\nproxy-password\n' },
        { fail: 'engine said sk-very-secret-1234' },
      ),
    });
    await untilReported(cp, run.id);
    expect(run.output.toString()).toBe('key=***\n***\n');
    expect(run.report).toMatchObject({ reason: 'engine_error', message: 'engine said ***' });
    expect(JSON.stringify(cp.calls.filter((call) => call.name !== 'poll'))).not.toContain('very-secret');
  });

  it('2.17 stays online while paused, and finishes what it holds', async () => {
    const { cp, home, daemon } = await startedMachine(bundle(), { args: ['--slots', '2'] });
    const gate = home.file('gate');
    const first = cp.submit({ command: script({ await: gate }) });
    await waitFor('the run', () => first.state === 'running');
    cp.directives.paused = true;
    await waitFor('the pause', () => readState(home).paused);
    const second = cp.submit();
    const beats = cp.of('heartbeat').length;
    writeFileSync(gate, '');
    await untilReported(cp, first.id);
    await waitFor('more heartbeats', () => cp.of('heartbeat').length > beats + 2);
    expect(second.state).toBe('queued');
    expect(daemon.output()).toContain('paused by the team');
    cp.directives.paused = false;
    await untilReported(cp, second.id);
  });

  it('2.18 kills a cancelled run and reports it as cancelled, once', async () => {
    const { cp, home } = await startedMachine(bundle());
    const run = cp.submit({ command: script({ out: 'begun' }, { hang: true }) });
    await waitFor('the task', () => home.events('start').length > 0);
    cp.cancel(run.id);
    await untilReported(cp, run.id);
    expect(run.report).toMatchObject({ reason: 'cancelled' });
    expect(run.report?.exitCode).toBeUndefined();
    expect(home.events('kill')).toHaveLength(1);
    expect(run.reports).toHaveLength(1);
  });

  it('sends self-diagnostics with the next heartbeat when asked', async () => {
    const { cp } = await startedMachine(bundle());
    await waitFor('contact', () => cp.of('heartbeat').length > 0);
    cp.directives.sendDiagnostics = true;
    const call = await waitFor('diagnostics', () =>
      cp.of<HeartbeatRequest>('heartbeat').find((beat) => beat.body.diagnostics !== undefined),
    );
    expect(call.body.diagnostics?.workspaceFreeMb).toBeGreaterThan(0);
    await waitFor('a later heartbeat', () => cp.of<HeartbeatRequest>('heartbeat').at(-1) !== call);
    expect(cp.of<HeartbeatRequest>('heartbeat').at(-1)?.body.diagnostics).toBeUndefined();
  });

  it('shows what it does in the state file, and `status` reads it', async () => {
    const { cp, home, daemon } = await startedMachine(bundle());
    const run = cp.submit({ command: script({ hang: true }) });
    await waitFor('the phase', () => readState(home).runs[0]?.phase === 'running');
    const status = startProcess(bundle().main, ['status', '--data-dir', home.dataDir]);
    expect(await status.exited).toBe(0);
    expect(status.output()).toContain(`pid ${daemon.pid}`);
    expect(status.output()).toContain(`${run.id} epoch 1, running`);
    await daemon.end('SIGKILL');
    const after = startProcess(bundle().main, ['status', '--json', '--data-dir', home.dataDir]);
    expect(await after.exited).toBe(1);
    expect(JSON.parse(after.output())).toMatchObject({ running: false });
  });
});

describe('daemon, 2.6 SIGTERM', () => {
  it('lets running work finish and takes no more', async () => {
    const { cp, home, daemon } = await startedMachine(bundle(), { args: ['--slots', '2'] });
    const gate = home.file('gate');
    const run = cp.submit({ command: script({ await: gate }, { exit: 0 }) });
    await waitFor('the task', () => home.events('start').length > 0);
    daemon.kill('SIGTERM');
    await waitFor('the draining heartbeat', () =>
      cp.of<HeartbeatRequest>('heartbeat').some((call) => call.body.draining === true && call.status === 200),
    );
    const second = cp.submit();
    await waitFor('the word', () => daemon.output().includes('draining: 1 runs, up to 3600 s'));
    writeFileSync(gate, '');
    expect(await daemon.exited).toBe(0);
    expect(run.report).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(second.epoch).toBe(0);
    expect(existsSync(join(home.dataDir, 'lock'))).toBe(false);
  });

  it('cancels at the second one: killed, not reported, back to the queue', async () => {
    const { cp, home, daemon } = await startedMachine(bundle());
    const run = cp.submit({ command: script({ hang: true }) });
    await waitFor('the task', () => home.events('start').length > 0);
    daemon.kill('SIGTERM');
    await waitFor('the drain', () => daemon.output().includes('draining: 1 runs'));
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(home.events().map((event) => event.event)).toEqual(['start', 'kill', 'end']);
    expect(run.reports).toEqual([]);
    expect(journalEvents(home, run.id).at(-1)).toBe('dropped');
  });

  it('cancels when the drain time is over', async () => {
    const { cp, home, daemon } = await startedMachine(bundle(), { args: ['--drain-timeout', '300ms'] });
    const run = cp.submit({ command: script({ hang: true }) });
    await waitFor('the task', () => home.events('start').length > 0);
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(run.reports).toEqual([]);
  });

  it('ends as asked when the signal comes while it starts', async () => {
    const { home } = await enrolledMachine();
    const daemon = startFakeDaemon(bundle(), home, { env: { SLOW_START: home.file('gate') } });
    await waitFor('the start', () => daemon.output().includes('starting slowly'));
    daemon.kill('SIGTERM');
    writeFileSync(home.file('gate'), '');
    expect(await daemon.exited).toBe(0);
    expect(existsSync(join(home.dataDir, 'lock'))).toBe(false);
  });

  it('ends quickly while a poll is held and nothing runs', TIMED, async () => {
    const cp = await controlPlane();
    cp.intervals.pollWaitMs = 30_000;
    const daemon = startFakeDaemon(bundle(), makeHome(cp));
    await waitFor('the poll', () => cp.of('poll').length > 0);
    const askedMs = performance.now();
    expect(await daemon.end('SIGINT')).toBe(0);
    expect(performance.now() - askedMs).toBeLessThan(4_000);
  });
});
