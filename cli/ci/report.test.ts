import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { apiError, useFakeApi, useFolder } from '../testing/fake-api.ts';
import { Interrupted } from '../shell/io.ts';
import { INTERRUPTED_AGAIN } from '../shell/process-io.ts';
import { run } from '../shell/run.ts';
import { useBundledCli } from '../testing/bundle.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { ends, svc } from '../testing/session.ts';
import { runProgram } from './program.ts';

const SHA = 'a'.repeat(40);
const CI = {
  GITLAB_CI: 'true',
  CI_PIPELINE_ID: '9',
  CI_COMMIT_SHA: SHA,
  CI_COMMIT_BRANCH: 'main',
  CI_JOB_ID: '4',
  CI_JOB_NAME: 'unit',
};
/** A program that says by a file that it listens, and does so when it gets the signal. */
const listening = (signal: string, then: string): string =>
  `process.on('${signal}', () => ${then}); setInterval(() => {}, 1_000); require('node:fs').writeFileSync(process.argv[1], '')`;
const PATH = { PATH: process.env['PATH'] ?? '' };
const INSIDE = { ...CI, ...PATH };
const base = ['ci', 'report', '--connection', 'cic_1'];

const [api, cli] = await Promise.all([useFakeApi(), useBundledCli()]);
const folder = useFolder('report');

const takesReports = () => {
  api.on('POST /ci/runs', { status: 201, body: { id: 'cir_1' } });
  api.on('POST /ci/runs/cir_1/jobs', { body: { jobs: [] } });
};
const reports = () => api.asked.filter(({ method }) => method === 'POST');

describe('svc ci report', () => {
  it('reports what the environment tells, and flags win', async () => {
    takesReports();
    const line = [...base, '--status', 'queued', '--branch', 'other', '--json'];
    const { code, out } = await svc(api, line, { env: CI });
    expect([code, JSON.parse(out)]).toEqual([0, { id: 'cir_1' }]);
    expect(reports().at(-1)?.body).toEqual({
      ciConnectionId: 'cic_1',
      externalRunId: '9',
      externalAttempt: 1,
      commitSha: SHA,
      branch: 'other',
      status: 'queued',
    });
  });

  it('says of a run that stands in no timeline why, and where it is seen, once', async () => {
    const unplaced =
      'the run stands in no timeline: x; it is seen with "svc ci runs list --connection cic_1"';
    api.on('POST /ci/runs', { status: 201, body: { id: 'cir_1', unplaced } });
    api.on('POST /ci/runs/cir_1/jobs', { body: { jobs: [] } });
    const plain = await svc(api, base, { env: CI });
    expect([plain.code, plain.err]).toEqual([0, `${unplaced}\n`]);
    const wrapped = await svc(api, [...base, '--', 'true'], { env: INSIDE });
    expect([wrapped.code, wrapped.err]).toEqual([0, `${unplaced}\n`]);
  });

  it('reports a merge train as that of its target', async () => {
    takesReports();
    const train = {
      CI_MERGE_REQUEST_EVENT_TYPE: 'merge_train',
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: 'topic',
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: 'main',
    };
    await svc(api, base, { env: { ...CI, ...train } });
    expect(reports().at(-1)?.body).toMatchObject({ branch: 'topic', mergeQueueOf: 'main' });
    const merged = { ...CI, ...train, CI_MERGE_REQUEST_EVENT_TYPE: 'merged_result' };
    await svc(api, base, { env: merged });
    expect(reports().at(-1)?.body).not.toHaveProperty('mergeQueueOf');
    const queue = { GITHUB_ACTIONS: 'true', GITHUB_RUN_ID: '5', GITHUB_BASE_REF: 'main' };
    await svc(api, base, { env: { ...queue, GITHUB_HEAD_REF: 'mergify/merge-queue/0a1b' } });
    expect(reports().at(-1)?.body).toMatchObject({ mergeQueueOf: 'main' });
    await svc(api, base, { env: { ...queue, GITHUB_HEAD_REF: 'topic' } });
    expect(reports().at(-1)?.body).not.toHaveProperty('mergeQueueOf');
  });

  it('needs --local outside of CI, and refuses two systems when strict', async () => {
    takesReports();
    const outside = await svc(api, base);
    expect([outside.code, outside.err]).toEqual([2, expect.stringContaining('--local')]);
    const local = await svc(api, [...base, '--local', '--external-run-id', 'x']);
    expect(local.code).toBe(0);
    const two = { ...CI, CIRCLECI: 'true' };
    expect((await svc(api, [...base, '--strict'], { env: two })).code).toBe(2);
    expect((await svc(api, base, { env: two })).err).toContain('reported as gitlab');
  });
});

describe('svc ci report -- program', () => {
  it.each([
    [0, 'success'],
    [7, 'failed'],
  ])('passes exit code %i on and reports %s', async (code, status) => {
    takesReports();
    const line = [...base, '--', 'sh', '-c', `exit ${code}`];
    expect((await svc(api, line, { env: INSIDE })).code).toBe(code);
    const bodies = reports().map(({ body }) => body);
    expect(bodies).toMatchObject([
      { externalRunId: '9', status: 'running', startedAt: expect.any(String) },
      { jobs: [{ externalJobId: '4', name: 'unit', status }] },
      { externalRunId: '9', status, durationMs: expect.any(Number), finishedAt: expect.any(String) },
    ]);
  });

  it('runs the program also when nothing can be reported', async () => {
    api.on('POST /ci/runs', apiError(403, 'forbidden', 'no'));
    const wrapped = (more: readonly string[], script: string) =>
      svc(api, [...base, ...more, '--', 'sh', '-c', script], { env: INSIDE });
    const lenient = await wrapped([], 'exit 0');
    expect([lenient.code, lenient.err]).toEqual([0, expect.stringContaining('the end was not reported: ')]);
    expect((await wrapped(['--strict-report'], 'exit 0')).code).toBe(1);
    expect((await wrapped(['--strict-report'], 'exit 3')).code).toBe(3);
    expect((await svc(api, [...base, '--', 'true'], { env: PATH })).code).toBe(0);
  });

  it('leaves the run open with --job-only', async () => {
    takesReports();
    await svc(api, [...base, '--job-only', '--', 'true'], { env: INSIDE });
    expect(reports().map(({ target }) => target)).toEqual(['/ci/runs', '/ci/runs/cir_1/jobs']);
  });

  it('names the job as it is told to', async () => {
    takesReports();
    const line = [...base, '--job-only', '--job-name', 'unit (arm)', '--job-id', '4b', '--', 'true'];
    await svc(api, line, { env: INSIDE });
    expect(reports().at(-1)?.body).toMatchObject({ jobs: [{ externalJobId: '4b', name: 'unit (arm)' }] });
  });

  it('tells nodes of a parallel job apart by their index', async () => {
    takesReports();
    const node = { CIRCLE_WORKFLOW_JOB_ID: 'j', CIRCLE_NODE_INDEX: '1', CIRCLE_NODE_TOTAL: '2' };
    const env = { ...PATH, CIRCLECI: 'true', CIRCLE_WORKFLOW_ID: 'w', CIRCLE_JOB: 'test', ...node };
    await svc(api, [...base, '--job-only', '--', 'true'], { env });
    expect(reports().at(-1)?.body).toMatchObject({ jobs: [{ name: 'test', index: 1 }] });
    expect(reports().at(-1)?.body).not.toHaveProperty('jobs.0.externalJobId');
  });

  it('names the pipeline of a branch at Jenkins without the branch', async () => {
    takesReports();
    const jenkins = {
      JENKINS_URL: 'https://ci/',
      BUILD_NUMBER: '3',
      BUILD_URL: 'https://ci/job/app/job/main/3/',
    };
    await svc(api, base, { env: { ...jenkins, JOB_NAME: 'app/main', BRANCH_NAME: 'main' } });
    expect(reports().at(-1)?.body).toMatchObject({ branch: 'main', pipelineName: 'app' });
  });

  it('reports the end of the run also when it takes no jobs', async () => {
    takesReports();
    api.on('POST /ci/runs/cir_1/jobs', apiError(403, 'claim_refused', 'no jobs here'));
    const line = [...base, '--strict-report', '--', 'true'];
    const { code, err } = await svc(api, line, { env: INSIDE });
    expect([code, err]).toEqual([1, 'warning: the job was not reported: no jobs here\n']);
    expect(reports().at(-1)).toMatchObject({ target: '/ci/runs', body: { status: 'success' } });
    const both = apiError(403, 'forbidden', 'no');
    api.on('POST /ci/runs', { status: 201, body: { id: 'cir_1' } }, both);
    expect((await svc(api, line, { env: INSIDE })).err.match(/was not reported/g)).toHaveLength(2);
  });

  it('takes it for no failure that the run had ended otherwise', async () => {
    const ended = apiError(409, 'state_conflict', 'the run ended as failed already, reported was success');
    takesReports();
    api.on('POST /ci/runs', { status: 201, body: { id: 'cir_1' } }, ended);
    const line = [...base, '--strict-report', '--', 'true'];
    const { err } = await ends(api, line, { code: 0, says: 'the run had ended already', env: INSIDE });
    expect(err).not.toContain('warning');
  });

  it('waits for an interrupted program, longer than for a command, and reports it as cancelled', async () => {
    takesReports();
    const ready = join(folder, 'first');
    const env = { ...CI, ...PATH, SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1' };
    const io = fakeIo({ env });
    const script = listening('SIGINT', 'setTimeout(() => process.exit(5), 1_300)');
    const running = run([...base, '--', process.execPath, '-e', script, ready], io);
    await vi.waitFor(() => access(ready), { timeout: 10_000 });
    io.interrupt();
    expect(await running).toBe(5);
    expect(reports().at(-1)?.body).toMatchObject({ status: 'cancelled' });
  });

  it('passes every signal on and does not end before the program', async () => {
    takesReports();
    const script = `process.on('SIGINT', () => console.log('one')); process.on('SIGTERM', () => process.exit(5)); setTimeout(() => {}, 20_000); console.log('ready')`;
    const child = spawn(process.execPath, [cli.main, ...base, '--', process.execPath, '-e', script], {
      env: { ...CI, ...PATH, HOME: cli.folder, SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    child.stdout.on('data', (chunk: Buffer) =>
      child.kill(String(chunk).includes('one') ? 'SIGTERM' : 'SIGINT'),
    );
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect([code, reports().at(-1)?.body]).toEqual([5, expect.objectContaining({ status: 'cancelled' })]);
  });

  it('ends as shells do for a program that is not there or was killed', async () => {
    takesReports();
    const env = { ...CI, ...PATH };
    expect((await svc(api, [...base, '--', 'no-such-program-1'], { env })).code).toBe(127);
    expect((await svc(api, [...base, '--', 'sh', '-c', 'kill -TERM $$'], { env })).code).toBe(143);
  });
});

describe('runProgram()', () => {
  it('passes Ctrl-C on and waits for the program to end by itself', async () => {
    const io = fakeIo({ env: PATH });
    const script = listening('SIGINT', 'setTimeout(() => process.exit(5), 50)');
    const ready = join(folder, 'second');
    const running = runProgram([process.execPath, '-e', script, ready], io);
    await vi.waitFor(() => access(ready), { timeout: 10_000 });
    io.interrupt();
    expect(await running).toBe(5);
  });

  it('leaves a second Ctrl-C on a terminal to the program, which has it already', async () => {
    const io = fakeIo({ env: PATH, terminal: true });
    const ready = join(folder, 'third');
    const script = listening('SIGTERM', 'process.exit(5)');
    const running = runProgram([process.execPath, '-e', script, ready], io);
    await vi.waitFor(() => access(ready), { timeout: 10_000 });
    const again = (exitCode: number): boolean => {
      const detail = new Interrupted(exitCode);
      return io.interrupted.dispatchEvent(new CustomEvent(INTERRUPTED_AGAIN, { detail, cancelable: true }));
    };
    io.interrupt();
    expect([again(130), again(143)]).toEqual([false, false]);
    expect(await running).toBe(5);
    expect(again(130)).toBe(true); // It ends svc from here on.
  });
});
