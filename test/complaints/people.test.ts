/**
 * Complaints about what people see and do not see: logs, secrets, reasons, pauses, versions, time. Numbers
 * are those of the list of complaints.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeCertificates } from '../setup/runner/certificates.ts';
import { startProcess } from '../setup/runner/daemon-process.ts';
import { tempDir } from '../setup/runner/temp-dir.ts';
import { CLOCK_SOURCE } from '../faults/clock.ts';
import { freePorts } from '../faults/free-ports.ts';
import { has } from '../setup/needs.ts';
import { begin, gated, script, useWorld, waitFor } from './world.ts';

const namespaces = await has('namespaces');
const [tlsPort = 0] = await freePorts(1);
const PRIVATE_URL = `https://localhost:${tlsPort}`;
const world = useWorld({}, 2, [PRIVATE_URL]);

const b64 = (text: string): string => Buffer.from(text).toString('base64');

describe('complaints about logs', () => {
  it('2.3 silent log holes: connections break under the output, and still every byte is there', async () => {
    const teamId = await world.team();
    const network = world.network();
    const { home } = await world.daemon(teamId, { url: network.url });
    const lines = Array.from({ length: 200 }, (_, i) => `line ${i} ${'x'.repeat(80)}\n`);
    const run = await world.submit(
      teamId,
      script(
        { out: lines.slice(0, 100).join('') },
        { await: home.file('gate') },
        { out: lines.slice(100).join('') },
        { exit: 0 },
      ),
    );
    await world.until(run.id, 'running');
    network.impair({ how: 'reset', direction: 'requests', afterBytes: 2_000 });
    writeFileSync(home.file('gate'), '');
    await waitFor('the end of the task', () => home.events().some(({ event }) => event === 'end'));
    network.heal();
    const done = await world.until(run.id, 'succeeded', 'failed', 'dead');
    expect(done).toMatchObject({ state: 'succeeded', attempt: 1, logMissingBytes: 0, logMismatch: false });
    expect(await world.outputOf(run.id)).toBe(lines.join(''));
  });

  it('2.3 silent log holes: an append that would leave one is refused, and says where to go on', async () => {
    const teamId = await world.team();
    const runner = await world.scripted(teamId);
    const run = await world.submit(teamId, ['echo', 'hi']);
    const lease = await begin(runner);
    expect(lease.id).toBe(run.id);
    const append = async (offset: number, text: string) =>
      await runner.call('logs', { ...lease, offset, chunks: [{ stream: 'stdout', data: b64(text) }] });
    expect(await append(0, 'one\n')).toMatchObject({ status: 200, body: { nextOffset: 4 } });
    const gap = await append(8, 'three\n');
    expect(JSON.stringify(gap.body)).toMatch(/"(nextOffset|expected\w*)":4/);
    expect(await append(4, 'two\n')).toMatchObject({ status: 200, body: { nextOffset: 8 } });
    expect(await append(8, 'three\n')).toMatchObject({ status: 200, body: { nextOffset: 14 } });
    expect(await world.outputOf(run.id)).toBe('one\ntwo\nthree\n');
  });

  it('2.4 logs rejected after the job ended: the last lines still come in, once', async () => {
    const teamId = await world.team();
    const runner = await world.scripted(teamId);
    const run = await world.submit(teamId, ['echo', 'hi']);
    const lease = await begin(runner);
    expect(lease.id).toBe(run.id);
    const report = { ...lease, reportId: 'report-0001', reason: 'exit', exitCode: 0, durationMs: 5 };
    expect(await runner.call('report', report)).toMatchObject({ body: { accepted: true } });
    await world.until(run.id, 'succeeded');
    const late = { ...lease, offset: 0, chunks: [{ stream: 'stdout', data: b64('last words\n') }] };
    expect(await runner.call('logs', late)).toMatchObject({ status: 200, body: { nextOffset: 11 } });
    expect(await runner.call('logs', late)).toMatchObject({ status: 200, body: { nextOffset: 11 } });
    expect(await world.outputOf(run.id)).toBe('last words\n');
  });

  it('2.15 secrets leak: whatever form a secret takes in the output, nobody sees it, and short values are left alone', async () => {
    const teamId = await world.team();
    await world.daemon(teamId);
    const secret = 'hunter2/canary+4711';
    const run = await world.submit(
      teamId,
      script(
        { out: `plain ${secret}\n` },
        { out: `base64 ${b64(secret)}\n` },
        { out: `url ${encodeURIComponent(secret)}\n` },
        { out: `split ${secret.slice(0, 7)}` },
        { out: `${secret.slice(7)}\n` },
        { out: 'braces { } stay\n' },
        { exit: 0 },
      ),
      { env: { TOKEN: secret, SHORT: '{' } },
    );
    await world.until(run.id, 'succeeded');
    const output = await world.outputOf(run.id);
    for (const form of [secret, b64(secret), encodeURIComponent(secret), secret.slice(7)])
      expect(output).not.toContain(form);
    expect(output).toContain('braces { } stay');
    expect((await world.sdk.sandboxRuns.get(run.id)).envNames).toEqual(['SHORT', 'TOKEN']);
  });
});

describe('complaints about clocks and time', () => {
  it('2.8 clock skew: a runner whose clock is two hours off works, and is never told that it is revoked', async () => {
    const teamId = await world.team();
    const folder = tempDir();
    const [preload, clock] = [join(folder, 'clock.cjs'), join(folder, 'clock')];
    writeFileSync(preload, CLOCK_SOURCE);
    writeFileSync(clock, String(2 * 3_600_000));
    const daemon = await world.daemon(teamId, {
      nodeArgs: ['--require', preload],
      env: { FAULT_CLOCK: clock },
    });
    const run = await world.submit(teamId, script({ exit: 0 }));
    expect(await world.until(run.id, 'succeeded')).toMatchObject({ attempt: 1 });
    expect(daemon.process.output()).toMatch(/clock is wrong/);
    expect(daemon.process.output()).not.toMatch(/revoked/);
  });

  it.skipIf(!namespaces)(
    '2.18 timeout not enforced: a task over its time is killed, and is no success',
    async () => {
      const teamId = await world.team();
      // It is the real executor, because the deadline is its own.
      await world.daemon(teamId, { real: true, args: ['--executor', 'namespaces'] });
      const run = await world.submit(teamId, ['sh', '-c', 'echo begun; sleep 60; exit 0'], {
        limits: { timeoutSeconds: 1 },
      });
      expect(await world.until(run.id, 'failed', 'succeeded', 'dead')).toMatchObject({
        state: 'failed',
        reason: 'timeout',
        attempt: 1,
      });
      expect(await world.outputOf(run.id)).toBe('begun\n');
    },
  );
});

describe('complaints about private networks', () => {
  it('2.16 private authority: one option for everything, and a plain sentence without it', async () => {
    const { key, cert, caFile } = makeCertificates();
    const door = createServer({ key, cert }, (near) => {
      const far = connect(Number(new URL(world.server.baseUrl).port), '127.0.0.1');
      near.on('error', () => far.destroy()).pipe(far);
      far.on('error', () => near.destroy()).pipe(near);
    });
    await new Promise<void>((resolve) => door.listen(tlsPort, '127.0.0.1', resolve));
    onTestFinished(() => void door.close());
    const teamId = await world.team();
    const { token } = await world.sdk.runners.createEnrollToken(teamId);
    const dataDir = join(tempDir(), 'data');
    const without = startProcess(
      world.program,
      ['enroll', '--url', PRIVATE_URL, '--name', 'untrusting', '--data-dir', dataDir],
      { SVC_ENROLL_TOKEN: token },
    );
    // It goes on trying for a while: whoever started it has read the sentence by then.
    await waitFor('the sentence', () => without.output().includes('--ca-file'));
    without.kill('SIGKILL');
    const { home } = await world.daemon(teamId, { url: PRIVATE_URL, enrollArgs: ['--ca-file', caFile] });
    const run = await world.submit(teamId, script({ exit: 0 }));
    await world.until(run.id, 'succeeded');
    // Told once, at the enrollment.
    expect(readFileSync(join(home.dataDir, 'config.json'), 'utf8')).toContain(caFile);
  });
});

describe('complaints about runners that do nothing and do not say why', () => {
  const reasonOf = async (runId: string): Promise<string | undefined> =>
    (await world.sdk.sandboxRuns.get(runId)).waiting?.reason;
  const untilWaits = async (runId: string, reason: string): Promise<string> => {
    const holds = (seen: string | undefined): boolean => seen === reason;
    await waitFor(`the run to wait because of ${reason}`, async () => reasonOf(runId), { holds });
    return (await world.sdk.sandboxRuns.get(runId)).waiting?.detail ?? '';
  };

  it('2.13 disk full: the runner takes nothing and everybody sees why', async () => {
    const teamId = await world.team();
    const { runnerId } = await world.daemon(teamId, { minFreeMb: 1_048_576, unseen: true });
    const run = await world.submit(teamId, ['echo', 'hi']);
    expect(await untilWaits(run.id, 'not_ready')).toMatch(/disk/);
    const runner = await world.sdk.runners.get(teamId, runnerId);
    expect(runner.notReady.join(' ')).toMatch(/disk/);
    expect(await world.sdk.sandboxRuns.get(run.id)).toMatchObject({ state: 'queued', attempt: 0 });
  });

  it('2.17 pause without unregistering: it finishes what it holds, takes no more, says why, and resumes', async () => {
    const teamId = await world.team();
    const { home, runnerId } = await world.daemon(teamId);
    const first = await world.submit(teamId, gated(home));
    await world.until(first.id, 'running');
    await world.sdk.runners.pause(teamId, runnerId, { note: 'new memory', minutes: 60 });
    const second = await world.submit(teamId, script({ exit: 0 }));
    writeFileSync(home.file('gate'), '');
    expect(await world.until(first.id, 'succeeded')).toMatchObject({ attempt: 1 });
    await untilWaits(second.id, 'all_paused');
    const paused = await world.sdk.runners.get(teamId, runnerId);
    expect(paused).toMatchObject({ pauseNote: 'new memory' });
    expect(Date.parse(paused.pausedUntil ?? '')).toBeGreaterThan(Date.now());
    await world.sdk.runners.resume(teamId, runnerId);
    await world.until(second.id, 'succeeded');
  });

  it('2.19 idle runner, queued job, no explanation: each waiting run says what it waits for', async () => {
    const teamId = await world.team();
    const run = await world.submit(teamId, ['echo', 'hi']);
    expect(await untilWaits(run.id, 'no_live_runner')).toMatch(/runner/);
    const { home, process } = await world.daemon(teamId);
    expect(await world.until(run.id, 'succeeded', 'failed')).toMatchObject({ attempt: 1 });
    const holding = await world.submit(teamId, gated(home));
    await world.until(holding.id, 'running');
    const next = await world.submit(teamId, script({ exit: 0 }));
    await untilWaits(next.id, 'all_busy');
    writeFileSync(home.file('gate'), '');
    await world.until(next.id, 'succeeded');
    expect((await world.sdk.sandboxRuns.get(next.id)).waiting).toBeUndefined();
    process.kill('SIGTERM');
    await process.exited;
    const orphan = await world.submit(teamId, ['echo', 'hi']);
    await untilWaits(orphan.id, 'no_live_runner');
  });
});
