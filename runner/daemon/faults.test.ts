/** Stories in which the network, the control plane, the clock or the disk is not as it should be. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  makeHome,
  startFakeDaemon,
  readState,
  journalEvents,
  untilReported,
} from '../../test/setup/runner/daemon-process.ts';
import { refusal, type CannedReply } from '../../test/setup/runner/fake-control-plane.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { controlPlane, enrolledMachine, startedMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type { HeartbeatRequest, LogsRequest, PollRequest } from '../control-plane/wire.ts';

const bundle = useBundle();

const htmlPage: CannedReply = { status: 200, body: '<html><body>Please log in</body></html>' };

describe('daemon on a bad network', () => {
  it('2.1 asks again with the same poll id when the answer is lost, and gets the same offer', async () => {
    const { cp, home } = await enrolledMachine();
    const run = cp.submit({ command: script({ exit: 0 }) });
    cp.script('poll', 'lose_answer');
    startFakeDaemon(bundle(), home);
    await untilReported(cp, run.id);
    expect(run.epoch).toBe(1);
    const [first, second] = cp.of<PollRequest>('poll').map((call) => call.body.pollId);
    expect(first).toBe(second);
    expect(home.events('start')).toHaveLength(1);
  });

  it('accepts an offer even when the answer to the accepting heartbeat is lost', async () => {
    const { cp } = await startedMachine(bundle());
    await waitFor('contact', () => cp.of('heartbeat').length > 0);
    cp.script('heartbeat', 'lose_answer', 'reset');
    const run = cp.submit({ command: script({ exit: 0 }) });
    await untilReported(cp, run.id);
    expect(run.epoch).toBe(1);
  });

  it('2.10 takes a login page with status 200 for what it is, everywhere', async () => {
    const cp = await controlPlane();
    for (const name of ['poll', 'heartbeat', 'logs', 'report'] as const)
      cp.script(name, htmlPage, { status: 502, body: 'bad gateway' });
    const run = cp.submit({ command: script({ out: 'x' }, { exit: 0 }) });
    const daemon = startFakeDaemon(bundle(), makeHome(cp));
    await untilReported(cp, run.id);
    expect(run.output.toString()).toBe('x');
    expect(run.reports).toHaveLength(1);
    expect(daemon.output()).toContain('is there a proxy in between');
  });

  it('2.10 keeps the result while the control plane is away, uses the slot for other work, and delivers it after a restart', async () => {
    const { cp, home } = await enrolledMachine();
    cp.script('report', ...Array.from({ length: 500 }, () => refusal(503, 'unavailable')));
    const first = cp.submit({ command: script({ exit: 1 }) });
    const daemon = startFakeDaemon(bundle(), home);
    await waitFor('the outbox', () => existsSync(join(home.dataDir, 'outbox', `${first.id}-1.json`)));
    const second = cp.submit({ command: script({ out: 'second' }, { exit: 2 }) });
    await waitFor('the second run', () => home.events('end').length === 2);
    await waitFor('both in the outbox', () => readState(home).outbox === 2);
    await daemon.end('SIGKILL');
    cp.unscript();
    startFakeDaemon(bundle(), home);
    await untilReported(cp, first.id);
    await untilReported(cp, second.id);
    expect([first.report?.exitCode, second.report?.exitCode]).toEqual([1, 2]);
    expect([first.epoch, second.epoch]).toEqual([1, 1]);
    expect(new Set(first.reports.map((report) => report.reportId)).size).toBe(1);
  });

  it('waits as long as Retry-After asks', async () => {
    const cp = await controlPlane();
    cp.script('poll', { ...refusal(429, 'rate_limited'), headers: { 'retry-after': '1' } });
    startFakeDaemon(bundle(), makeHome(cp));
    const [first, second] = await waitFor('two polls', () =>
      cp.of('poll').length >= 2 ? cp.of('poll') : undefined,
    );
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
  });

  it('2.3 sends output again from where the control plane lost it, and everything when the digest differs', async () => {
    const { cp, home } = await startedMachine(bundle());
    const run = cp.submit({
      command: script(
        { out: 'first ' },
        { await: home.file('one') },
        { out: 'second ' },
        { await: home.file('two') },
        { out: 'third' },
      ),
    });
    await waitFor('the first output', () => run.output.length === 6);
    // The control plane falls back to an older state, so the next append leaves a gap.
    run.output = run.output.subarray(0, 2);
    writeFileSync(home.file('one'), '');
    await waitFor('the rewind', () => run.output.toString() === 'first second ');
    // The stored output is corrupted in a way that only the digest shows.
    run.output = Buffer.from('FIRST second ');
    writeFileSync(home.file('two'), '');
    await untilReported(cp, run.id);
    expect(run.output.toString()).toBe('first second third');
    expect(run.complete).toBe(true);
    expect(run.report?.message).toBeUndefined();
  });

  it('2.3 does not believe an answer that claims more output than was written', async () => {
    const { cp, home } = await enrolledMachine();
    cp.script('logs', { status: 200, body: { nextOffset: 1_000_000, state: 'ok' } });
    const run = cp.submit({ command: script({ out: 'abc' }, { await: home.file('gate') }, { out: 'def' }) });
    const daemon = startFakeDaemon(bundle(), home);
    await waitFor('the odd answer', () => daemon.output().includes('claims to have more output'));
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(run.output.toString()).toBe('abcdef');
  });
});

describe('daemon and its leases', () => {
  it('2.5 keeps the lease while the main thread is busy for longer than it', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals = { heartbeatMs: 200, pollWaitMs: 2_000, leaseMs: 1_200 };
    const run = cp.submit({ command: script({ block: 3_000 }, { out: 'still here' }, { exit: 0 }) });
    startFakeDaemon(bundle(), home);
    await untilReported(cp, run.id);
    expect(run.epoch).toBe(1);
    expect(run.report).toMatchObject({ reason: 'exit', exitCode: 0 });
  });

  it('2.11 kills its task before the lease ends when the control plane cannot be reached, and reports nothing', async () => {
    const { cp, home } = await enrolledMachine();
    cp.intervals.leaseMs = 3_000;
    const daemon = startFakeDaemon(bundle(), home);
    const run = cp.submit({ command: script({ hang: true }) });
    await waitFor('the task', () => home.events('start').length > 0);
    cp.outage = 'hang';
    await waitFor('the kill', () => home.events('end').length > 0);
    expect(performance.now()).toBeLessThan(run.expiresAtMs);
    expect(home.events().at(-1)).toMatchObject({ event: 'end', reason: 'lease_lost' });
    cp.outage = undefined;
    await waitFor('the next grant', () => run.epoch === 2);
    expect(run.reports).toEqual([]);
    daemon.kill('SIGKILL');
  });

  it('2.11 kills a superseded task at once and reports nothing', async () => {
    const { cp, home } = await startedMachine(bundle());
    const run = cp.submit({ command: script({ out: 'x' }, { hang: true }) });
    await waitFor('the output', () => run.output.length > 0);
    cp.supersede(run.id);
    await waitFor('the end', () => home.events('end').length > 0);
    await waitFor('the journal', () => journalEvents(home, run.id).at(-1) === 'dropped');
    expect(run.reports).toEqual([]);
    const next = cp.submit({ command: script({ exit: 0 }) });
    await untilReported(cp, next.id);
  });

  it('2.11 never starts a grant twice, whatever the control plane says', async () => {
    const { cp, home } = await enrolledMachine();
    const run = cp.submit({ command: script({ exit: 0 }) });
    const daemon = startFakeDaemon(bundle(), home);
    await untilReported(cp, run.id);
    cp.script('poll', {
      status: 200,
      body: { run: { id: run.id, epoch: 1, command: ['echo', 'again'], leaseMs: 15_000 } },
    });
    await waitFor('the refusal', () =>
      daemon.output().includes('an offer that was seen before was left alone'),
    );
    expect(home.events('start')).toHaveLength(1);
  });

  it('leaves an offer alone whose id could be a path', async () => {
    const { cp, home } = await enrolledMachine();
    cp.script('poll', {
      status: 200,
      body: { run: { id: '../../etc/passwd', epoch: 1, command: ['x'], leaseMs: 15_000 } },
    });
    const daemon = startFakeDaemon(bundle(), home);
    await waitFor('the refusal', () => daemon.output().includes('an offer without a usable id'));
    const run = cp.submit();
    await untilReported(cp, run.id);
  });
});

describe('daemon and its standing', () => {
  it.each([1, -1])('2.8 works with a clock that is %i h off, and never calls it revoked', async (hours) => {
    const cp = await controlPlane();
    cp.clockMs = hours * 3_600_000;
    const run = cp.submit({ command: script({ out: 'x' }, { exit: 0 }) });
    const daemon = startFakeDaemon(bundle(), makeHome(cp));
    await untilReported(cp, run.id);
    expect(daemon.output()).toContain('clock is wrong');
    expect(daemon.output()).not.toContain('revoked');
    const refused = cp.calls.filter((call) => call.status === 401);
    // There is one refusal at most for each of the two threads, because the offset is shared.
    expect(refused.length).toBeLessThanOrEqual(2);
  });

  it('2.4 stops for good when revoked: task killed, exit code 5, one plain sentence', async () => {
    const { cp, home, daemon } = await startedMachine(bundle());
    const run = cp.submit({ command: script({ hang: true }) });
    await waitFor('the task', () => home.events('start').length > 0);
    cp.revoked = true;
    expect(await daemon.exited).toBe(5);
    expect(home.events().at(-1)).toMatchObject({ event: 'end', reason: 'lease_lost' });
    expect(daemon.output()).toContain('this runner was revoked');
    expect(run.reports).toEqual([]);
  });

  it('goes on trying while it is not known or runners are switched off, without hammering', async () => {
    const cp = await controlPlane();
    cp.forgotten = true;
    const daemon = startFakeDaemon(bundle(), makeHome(cp));
    await waitFor('a few tries', () => cp.calls.length >= 4);
    await waitFor('why its polls are empty', () => daemon.output().includes('key_unknown'));
    cp.forgotten = false;
    cp.outage = { status: 404, body: 'Not Found' };
    await waitFor('more tries', () => cp.calls.length >= 6);
    expect(cp.calls.length).toBeLessThan(60);
    cp.outage = undefined;
    const run = cp.submit();
    await untilReported(cp, run.id, 30_000);
    expect(daemon.child.exitCode).toBeNull();
  });

  it('2.13 2.19 takes no work on a full disk and says why', async () => {
    const { cp, home } = await enrolledMachine();
    const run = cp.submit();
    startFakeDaemon(bundle(), home, { args: ['--min-free-mb', '1048576'] });
    const poll = await waitFor('the reason', () =>
      cp.of<PollRequest>('poll').find((call) => call.body.notReady !== undefined),
    );
    expect(poll.body.notReady?.[0]).toMatch(/^disk: \d+ MB free, 1153434 MB needed$/);
    await waitFor('the state', () => readState(home).notReady.length === 1);
    expect(run.state).toBe('queued');
    // The polls are answered at once, and still must not follow each other without a pause.
    expect(cp.of('poll').length).toBeLessThan(20);
  });

  it('2.19 takes no work while the engine is broken, and again when it works', async () => {
    const { cp, home, daemon: first } = await startedMachine(bundle());
    await waitFor('contact', () => cp.of('poll').length > 0);
    writeFileSync(join(home.executorDir, 'broken'), '');
    const failing = cp.submit({ command: script({ fail: 'no engine' }) });
    await untilReported(cp, failing.id);
    const poll = await waitFor('the reason', () =>
      cp.of<PollRequest>('poll').find((call) => call.body.notReady !== undefined),
    );
    expect(poll.body.notReady).toEqual(['engine namespaces: engine is broken']);
    await first.end('SIGTERM');
    rmSync(join(home.executorDir, 'broken'));
    startFakeDaemon(bundle(), home);
    const run = cp.submit();
    await untilReported(cp, run.id);
  });

  it('names every held lease in each heartbeat, also of a run whose result is on its way', async () => {
    const { cp, home } = await enrolledMachine();
    cp.script('report', ...Array.from({ length: 4 }, () => refusal(503, 'unavailable')));
    const run = cp.submit({ command: script({ exit: 0 }) });
    startFakeDaemon(bundle(), home);
    await waitFor('the report', () => cp.of('report').length > 1);
    const beats = cp.of('heartbeat').length;
    await waitFor('a heartbeat', () => cp.of('heartbeat').length > beats + 1);
    if (run.state !== 'ended')
      expect(cp.of<HeartbeatRequest>('heartbeat').at(-1)?.body.leases).toEqual([{ id: run.id, epoch: 1 }]);
    await untilReported(cp, run.id, 30_000);
    expect(cp.of<LogsRequest>('logs').at(-1)?.body.end).toBeDefined();
  });
});
