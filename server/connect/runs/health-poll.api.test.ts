/** Runs that no report comes of, whose hosts on loopback are asked. */
import { describe, expect, it } from 'vitest';
import { ownBackground } from '../../../test/setup/forges/background.ts';
import { bitbucketRuns } from '../../../test/setup/forges/bitbucket-runs.ts';
import { fakeRuns, githubRuns } from '../../../test/setup/forges/github-runs.ts';
import { gitlabRuns } from '../../../test/setup/forges/gitlab-runs.ts';
import { has } from '../../../test/setup/needs.ts';
import { wantCommitStatus } from '../commitstatus/handler.ts';
import { askSilent, giveUpLost } from './health.ts';

const TOKEN = 'token-of-the-host';
const HOUR_MS = 3_600_000;
const SHA = 'c'.repeat(40);

const HOSTS = {
  github: { host: 'github.com', path: 'acme/app', routes: githubRuns },
  gitlab: { host: 'gitlab.com', path: 'acme/sub/app', routes: gitlabRuns },
  bitbucket: { host: 'bitbucket.org', path: 'acme/app', routes: bitbucketRuns },
} as const;

describe.skipIf(!(await has('postgres')))('runs that are silent', () => {
  const background = ownBackground();

  const call: typeof background.call = async (...args) => await background.call(...args);
  const run = async (id: string) => (await call(`GET /ci/runs/${id}`)).body;
  const report = async (
    ciConnectionId: string,
    externalRunId: string,
    more: object = {},
  ): Promise<string> => {
    const made = await call('POST /ci/runs', { ciConnectionId, externalRunId, status: 'running', ...more });
    expect(made.status, made.text).toBe(201);
    return String(made.body['id']);
  };
  /**
   * Does what a server does in the minute that comes so many hours later, and what follows from it. Returns
   * how many runs are asked after.
   */
  const passIn = async (hours: number): Promise<number> => {
    background.later(hours * HOUR_MS);
    const asked = await askSilent(background.server.db, background.clock.now());
    await background.work();
    await giveUpLost({ db: background.server.db, follow: wantCommitStatus }, background.clock.now());
    return asked;
  };
  async function connected(name: keyof typeof HOSTS, token: string | undefined = TOKEN) {
    const { host, path, routes } = HOSTS[name];
    const state = fakeRuns(TOKEN, path);
    const forge = await background.startForge(routes(state));
    const id = await background.connect({ provider: name, host, path, token, apiUrl: forge.url });
    return { id, forge, ...state };
  }
  /**
   * The server records runs in the present, and the test is ahead of it: all runs get the time of the test as
   * that of their last report.
   */
  const reportAllNow = async () => {
    const now = background.clock.now();
    await background.server.db
      .sql`update ci_runs set heard_at = ${now}, poll_at = ${new Date(now.getTime() + HOUR_MS)}`;
  };
  const ended = {
    status: 'completed',
    conclusion: 'success',
    head_sha: SHA,
    updated_at: '2026-11-20T10:00:00Z',
  };

  it('are asked after when they were silent for an hour, and their end is recorded', async () => {
    const { id, forge, runs } = await connected('github');
    runs.set('77/2', { ...ended, name: 'CI', html_url: 'https://github.com/acme/app/actions/runs/77' });
    const silent = await report(id, '77', { externalAttempt: 2 });
    await call(`POST /ci/runs/${silent}/jobs`, { jobs: [{ name: 'test' }] });
    await reportAllNow();
    expect(await passIn(0.9)).toBe(0);
    expect(await passIn(0.2)).toBe(1);
    expect(forge.asked.map(({ path }) => path)).toEqual(['/repos/acme/app/actions/runs/77/attempts/2']);
    expect(await run(silent)).toMatchObject({
      status: 'success',
      providerConclusion: 'success',
      commitSha: SHA,
      finishedAt: '2026-11-20T10:00:00Z',
    });
    const { jobs } = (await call(`GET /ci/runs/${silent}/jobs`)).body as { jobs: unknown[] };
    expect(jobs).toMatchObject([{ status: 'success', reason: 'run_ended' }]);
    expect(await passIn(5)).toBe(0);
    expect(forge.asked).toHaveLength(1);
  });

  it('live for as long as their provider says so', async () => {
    const { id, forge, runs } = await connected('github');
    runs.set('5/1', { status: 'in_progress', conclusion: null, updated_at: '2026-11-20T09:00:00Z' });
    const silent = await report(id, '5');
    await reportAllNow();
    for (let n = 0; n < 8; n += 1) await passIn(1.2);
    expect((await run(silent))['status']).toBe('running');
    // It is asked once an hour, not every minute.
    expect(forge.asked).toHaveLength(8);
    expect(await passIn(0.1)).toBe(0);
    runs.set('5/1', ended);
    await passIn(1.2);
    expect((await run(silent))['status']).toBe('success');
  });

  it('read pipelines of GitLab with their jobs, also of several pages', async () => {
    const { id, forge, runs, jobs } = await connected('gitlab');
    const words = { status: 'failed', sha: SHA, ref: 'main', tag: false, source: 'push' };
    runs.set('31', {
      ...words,
      web_url: 'https://gitlab.com/p/31',
      duration: 62,
      finished_at: '2026-11-20T10:00:00Z',
    });
    jobs.set(
      '31',
      Array.from({ length: 130 }, (_, n) => ({
        id: 900 + n,
        name: `job ${n}`,
        stage: 'test',
        status: n === 3 ? 'failed' : 'success',
      })),
    );
    const silent = await report(id, '31');
    await reportAllNow();
    await passIn(1.2);
    expect(forge.asked.map(({ path, query }) => `${path} ${query.get('page') ?? ''}`)).toEqual([
      '/projects/acme/sub/app/pipelines/31/jobs 1',
      '/projects/acme/sub/app/pipelines/31/jobs 2',
      '/projects/acme/sub/app/pipelines/31 ',
    ]);
    expect(await run(silent)).toMatchObject({
      status: 'failed',
      branch: 'main',
      trigger: 'push',
      durationMs: 62_000,
    });
    const listed = await call(`GET /ci/runs/${silent}/jobs?limit=200`);
    expect(listed.body['jobs']).toHaveLength(130);
  });

  it.each([
    ['a number', '42', '42'],
    ['a UUID', '8a2f5c1e-0000-4000-8000-0123456789ab', '{8a2f5c1e-0000-4000-8000-0123456789ab}'],
  ])('read pipelines of Bitbucket by %s', async (_name, externalRunId, asked) => {
    const { id, runs } = await connected('bitbucket');
    const base = {
      build_number: 42,
      target: { ref_type: 'branch', ref_name: 'main', commit: { hash: SHA } },
    };
    runs.set(asked, { ...base, state: { name: 'IN_PROGRESS', stage: { name: 'PAUSED' } } });
    const silent = await report(id, externalRunId, { status: 'queued' });
    await reportAllNow();
    await passIn(1.2);
    expect(await run(silent)).toMatchObject({
      status: 'queued',
      blocked: true,
      branch: 'main',
      commitSha: SHA,
    });
    runs.set(asked, {
      ...base,
      state: { name: 'COMPLETED', result: { name: 'STOPPED' } },
      completed_on: '2026-11-20T11:00:00.123456+00:00',
      duration_in_seconds: 90,
    });
    await passIn(1.2);
    expect(await run(silent)).toMatchObject({
      status: 'cancelled',
      providerConclusion: 'STOPPED',
      durationMs: 90_000,
    });
  });

  it('are unknown when they are gone, and live again when a report comes', async () => {
    const { id } = await connected('github');
    const silent = await report(id, '6');
    await call(`POST /ci/runs/${silent}/jobs`, { jobs: [{ name: 'test' }] });
    await reportAllNow();
    await passIn(1.2);
    expect(await run(silent)).toMatchObject({ status: 'unknown', reason: 'gone' });
    const { jobs } = (await call(`GET /ci/runs/${silent}/jobs`)).body as { jobs: unknown[] };
    expect(jobs).toMatchObject([{ status: 'unknown', reason: 'run_ended' }]);
    await call(`PATCH /ci/runs/${silent}`, { status: 'running' });
    expect((await run(silent))['status']).toBe('running');
    await call(`POST /ci/runs/${silent}/complete`, { status: 'failed' });
    expect(await run(silent)).toMatchObject({ status: 'failed' });
    expect(await run(silent)).not.toHaveProperty('reason');
  });

  it('are not gone because the token may not see their repository', async () => {
    const { id, forge } = await connected('github', 'another-token');
    const silent = await report(id, '6');
    await reportAllNow();
    await passIn(1.2);
    expect(forge.asked.map(({ path }) => path)).toEqual([
      '/repos/acme/app/actions/runs/6/attempts/1',
      '/repos/acme/app',
    ]);
    expect((await run(silent))['status']).toBe('running');
    // Lost, as without a token, when their time has run out.
    await passIn(7);
    expect(await run(silent)).toMatchObject({ status: 'unknown', reason: 'lost' });
  });

  it('stay as they are while the host does not answer, and are lost when it never does', async () => {
    const { id, forge, runs } = await connected('github');
    runs.set('8/1', ended);
    let isDown = true;
    forge.instead(() => (isDown ? { status: 503 } : undefined));
    const [answered, lost] = [await report(id, '8'), await report(id, '9')];
    await reportAllNow();
    // The servers themselves were away for a day: nobody has asked yet.
    await passIn(24);
    expect([await run(answered), await run(lost)]).toMatchObject([
      { status: 'running' },
      { status: 'running' },
    ]);
    await passIn(1.2);
    expect((await run(answered))['status']).toBe('running');
    isDown = false;
    await passIn(1.2);
    expect((await run(answered))['status']).toBe('success');
    expect(await run(lost)).toMatchObject({ status: 'unknown', reason: 'gone' });
    isDown = true;
    const never = await report(id, '10');
    await reportAllNow();
    for (let n = 0; n < 30; n += 1) await passIn(1);
    expect(await run(never)).toMatchObject({ status: 'unknown', reason: 'lost' });
  });

  it('are lost as before where nobody can be asked', async () => {
    const without = await background.connect({ provider: 'github', host: 'github.com', path: 'acme/app' });
    const { id: elsewhere, forge } = await connected('gitlab');
    const silent = [
      await report(without, '11'),
      // Known by a commit and a context.
      await report(elsewhere, `${SHA}:ci/build`),
    ];
    await reportAllNow();
    expect(await passIn(1.2)).toBe(0);
    expect(await passIn(6)).toBe(0);
    for (const one of silent) expect(await run(one)).toMatchObject({ status: 'unknown', reason: 'lost' });
    expect(forge.asked).toEqual([]);
  });

  it('are asked after at the repository host alone, and not while their connection is paused', async () => {
    const { id, forge } = await connected('github');
    const jenkins = await background.connect({
      provider: 'jenkins',
      host: 'github.com',
      path: 'acme/app',
      token: TOKEN,
      apiUrl: forge.url,
    });
    await report(jenkins, '12');
    await report(id, '13');
    await call(`PATCH /ci/connections/${id}`, { status: 'paused' });
    await reportAllNow();
    expect(await passIn(1.2)).toBe(0);
    expect(forge.asked).toEqual([]);
  });

  it('are asked after a bounded number at a time, however many there are, and whatever is over', async () => {
    const { id } = await connected('github');
    const one = await report(id, '1000');
    await background.server.asOwner(`
      insert into ci_runs select (jsonb_populate_record(r, jsonb_build_object('id', 'cir_' || lpad(n::text, 26, '0'), 'external_run_id', (1000 + n)::text))).*
      from ci_runs r, generate_series(1, 500) n where r.id = '${one}'`);
    await background.server.asOwner(`
      insert into ci_runs select (jsonb_populate_record(r, jsonb_build_object('id', 'cix_' || lpad(n::text, 26, '0'), 'external_run_id', (9000 + n)::text,
        'status', 'success', 'poll_at', null))).*
      from ci_runs r, generate_series(1, 4000) n where r.id = '${one}'`);
    await background.server.asOwner('analyze ci_runs');
    await background.server.db.sql`
      update ci_runs set heard_at = ${background.clock.now()}, poll_at = ${new Date(background.clock.now().getTime() + HOUR_MS)}
      where status = 'running'`;
    const due = new Date(background.clock.now().getTime() + 1.2 * HOUR_MS);
    const { db } = background.server;
    const passes = [];
    for (let n = 0; n < 4; n += 1) passes.push(await askSilent(db, due));
    expect(passes).toEqual([200, 200, 101, 0]);
    // They are not due at the same moment again.
    const [spread] = await db.sql<Array<{ n: number }>>`
      select count(distinct date_trunc('minute', poll_at))::int as n from ci_runs where poll_at is not null`;
    expect(spread?.n).toBeGreaterThan(5);
    const plan = await background.server.asOwner(
      'explain select id from ci_runs where poll_at <= now() order by poll_at limit 200',
    );
    expect(JSON.stringify(plan)).toContain('ci_runs_poll');
  });
});
