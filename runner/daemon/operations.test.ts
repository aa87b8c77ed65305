/**
 * This file tests the interfaces for operators: status, metrics, versions, an upgrade while work is under
 * way. The daemon is the process that users start.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DaemonState } from './state-file.ts';
import {
  makeHome,
  startProcess,
  startFakeDaemon,
  untilReported,
  type RunnerHome,
} from '../../test/setup/runner/daemon-process.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { controlPlane, enrolledMachine, startedMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { VERSION } from '../platform/version.ts';
import type { PollRequest } from '../control-plane/wire.ts';

const bundle = useBundle();

async function get(
  home: RunnerHome,
  path: string,
  method = 'GET',
): Promise<{ status: number; body: unknown }> {
  return await new Promise((resolve, reject) => {
    const asking = request({ socketPath: join(home.dataDir, 'status.sock'), path, method }, (reply) => {
      let text = '';
      reply.on('data', (part: Buffer) => (text += part.toString()));
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, body: JSON.parse(text) }));
    });
    asking.on('error', reject);
    asking.end();
  });
}

const stateOf = async (home: RunnerHome) => (await get(home, '/status')).body as DaemonState;

async function statusJson(home: RunnerHome): Promise<{ code: unknown; source: string; running: boolean }> {
  const asked = startProcess(bundle().main, ['status', '--json', '--data-dir', home.dataDir]);
  const code = await asked.exited;
  return { code, ...(JSON.parse(asked.output()) as { source: string; running: boolean }) };
}

describe('status socket', () => {
  it('tells what the daemon is doing, at once, to its own user only, and is gone with it', async () => {
    const { cp, home, daemon } = await startedMachine(bundle(), { args: ['--slots', '2'] });
    await waitFor('the poll', () => cp.of('poll').length > 0);
    const run = cp.submit({ command: script({ out: 'x' }, { await: home.file('gate') }) });
    await waitFor('the output', () => run.output.length > 0);
    expect(await stateOf(home)).toMatchObject({
      runnerId: cp.runnerId,
      pid: daemon.pid,
      version: VERSION,
      slots: { total: 2, free: 1 },
      leases: 1,
      journalOpen: 1,
      outbox: 0,
      runs: [{ id: run.id, phase: 'running' }],
      intervals: { heartbeatMs: 300 },
      versionSupport: { tooOld: false },
      notReady: [],
      lastProblems: [],
    });
    expect(statSync(join(home.dataDir, 'status.sock')).mode & 0o777).toBe(0o600);
    expect((await get(home, '/other')).status).toBe(404);
    expect((await get(home, '/status', 'POST')).status).toBe(404);
    expect(await statusJson(home)).toMatchObject({ code: 0, source: 'socket', running: true });

    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(existsSync(join(home.dataDir, 'status.sock'))).toBe(false);
    expect(await statusJson(home)).toMatchObject({ code: 1, source: 'file', running: false });
  });

  it('shows the last problems without secrets, and takes the place of a killed daemon', async () => {
    const { cp, home, daemon: first } = await startedMachine(bundle());
    await waitFor('the socket', () => existsSync(join(home.dataDir, 'status.sock')));
    await first.end('SIGKILL');
    cp.script('poll', { status: 503, body: 'gone to https://me:hunter22@proxy.example' });
    startFakeDaemon(bundle(), home);
    const problems = await waitFor('a problem', async () => {
      const state = await stateOf(home).catch(() => undefined);
      return state !== undefined && state.lastProblems.length > 0 && state.lastProblems;
    });
    expect(problems[0]).toMatchObject({
      level: 'warn',
      message: expect.stringContaining('poll failed') as string,
    });
    expect(JSON.stringify(problems)).not.toContain('hunter22');
  });
});

describe('metrics file', () => {
  it('counts what was done and says at the end that the daemon is down', async () => {
    const { cp, home } = await enrolledMachine();
    const file = home.file('svc_runner.prom');
    const daemon = startFakeDaemon(bundle(), home, { args: ['--metrics-file', file] });
    await waitFor('the first file', () => existsSync(file));
    expect(readFileSync(file, 'utf8')).toContain('\nsvc_runner_up 1\n');
    expect(statSync(file).mode & 0o777).toBe(0o644);
    for (const exit of [0, 1]) await untilReported(cp, cp.submit({ command: script({ exit }) }).id);
    expect(await daemon.end('SIGTERM')).toBe(0);
    const lines = readFileSync(file, 'utf8').split('\n');
    for (const line of [
      'svc_runner_up 0',
      `svc_runner_info{version="${VERSION}",executor="namespaces"} 1`,
      'svc_runner_slots{kind="run",state="free"} 1',
      'svc_runner_outbox_depth 0',
      'svc_runner_leases 0',
      'svc_runner_offers_total{kind="run"} 2',
      'svc_runner_work_ended_total{kind="run",outcome="succeeded"} 1',
      'svc_runner_work_ended_total{kind="run",outcome="failed"} 1',
    ])
      expect(lines).toContain(line);
    expect(lines.find((line) => line.startsWith('svc_runner_heartbeats_total{result="ok"}'))).toMatch(
      / [1-9]\d*$/,
    );
    expect(lines.find((line) => line.startsWith('svc_runner_last_contact_age_seconds '))).toMatch(
      / \d+(\.\d+)?$/,
    );
    // Every line is a comment or a sample: node_exporter drops the whole file otherwise.
    for (const line of lines)
      expect(line).toMatch(
        /^$|^# (HELP|TYPE) svc_runner_\w+ .+$|^svc_runner_\w+(\{(\w+="[^"]*",?)+\})? -?\d+(\.\d+)?(e-\d+)?$/,
      );
  });
});

describe('versions', () => {
  it('2.14 finishes what it holds, says why it takes nothing new, and ends with its own code only when told to', async () => {
    const { cp, home, daemon } = await startedMachine(bundle(), {
      args: ['--exit-when-outdated', '--slots', '2'],
    });
    const run = cp.submit({ command: script({ out: 'x' }, { await: home.file('gate') }) });
    await waitFor('the output', () => run.output.length > 0);
    Object.assign(cp.directives, { versionTooOld: true, minVersion: '99.0.0' });
    await waitFor('the reason in a poll', () =>
      cp
        .of<PollRequest>('poll')
        .some(({ body }) => body.notReady?.[0]?.includes(`${VERSION} is below 99.0.0`)),
    );
    expect((await stateOf(home)).versionSupport).toMatchObject({ tooOld: true, minVersion: '99.0.0' });
    const waiting = cp.submit({ command: script({ exit: 0 }) });
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(await daemon.exited).toBe(7);
    expect(run.report).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(waiting.state).toBe('queued');
  });

  it('2.14 stays, outdated and idle, when it was not told to end', async () => {
    const cp = await controlPlane();
    Object.assign(cp.directives, { versionTooOld: true, minVersion: '99.0.0' });
    const home = makeHome(cp);
    const daemon = startFakeDaemon(bundle(), home);
    const asked = () => cp.of<PollRequest>('poll').filter(({ body }) => body.notReady !== undefined).length;
    await waitFor('polls that say why', () => asked() >= 2);
    cp.directives = {};
    const run = cp.submit({ command: script({ exit: 0 }) });
    await untilReported(cp, run.id);
    expect(await daemon.end('SIGTERM')).toBe(0);
  });

  it('delivers, as a newer version on the same folder, what the older one left in its outbox, and goes on', async () => {
    const { cp, home, daemon: before } = await startedMachine(bundle());
    await waitFor('the poll', () => cp.of('poll').length > 0);
    const run = cp.submit({ command: script({ out: 'hello' }, { await: home.file('gate') }) });
    await waitFor('the output', () => run.output.length > 0);
    // The result cannot be delivered; the daemon is stopped with it in its outbox.
    cp.outage = 'reset';
    writeFileSync(home.file('gate'), '');
    await waitFor('the result in the outbox', async () => (await stateOf(home)).outbox === 1);
    before.kill('SIGTERM');
    expect(await before.end('SIGTERM')).toBe(0);
    expect(run.report).toBeUndefined();
    writeFileSync(join(home.dataDir, 'format.json'), JSON.stringify({ format: 1, writtenBy: '0.9.0' }));

    cp.outage = undefined;
    const after = startFakeDaemon(bundle(), home);
    await untilReported(cp, run.id);
    expect(run.reports.filter(({ reportId }) => reportId !== run.report?.reportId)).toEqual([]);
    expect(run.complete).toBe(true);
    await untilReported(cp, cp.submit({ command: script({ exit: 0 }) }).id);
    expect(JSON.parse(readFileSync(join(home.dataDir, 'format.json'), 'utf8'))).toEqual({
      format: 1,
      writtenBy: VERSION,
    });
    expect(await after.end('SIGTERM')).toBe(0);
  });

  it('refuses a folder that a newer version wrote, and loses nothing in it', async () => {
    const { cp, home } = await enrolledMachine();
    writeFileSync(join(home.dataDir, 'format.json'), JSON.stringify({ format: 2, writtenBy: '1.4.0' }));
    // They start one after the other, because the second would be refused for the lock of the first.
    await startFakeDaemon(bundle(), home).exited;
    // The fake's entry has no error line of its own; main.ts prints the sentence.
    const released = startProcess(bundle().main, ['run', '--data-dir', home.dataDir]);
    expect(await released.exited).toBe(1);
    expect(released.output()).toContain('start svc-runner 1.4.0 or newer');
    expect(cp.calls).toEqual([]);
  });
});
