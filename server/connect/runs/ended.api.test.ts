/** A run that ended does not change, whoever says otherwise, over the real door. */
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { wantCommitStatus } from '../commitstatus/handler.ts';
import { giveUpLost } from './health.ts';
import { hook, type Hooked } from '../../../test/setup/ci/hooked.ts';

const ENDS = ['success', 'failed', 'cancelled', 'unknown'] as const;
const PAIRS = ENDS.filter((was) => was !== 'unknown').flatMap((was) =>
  ENDS.filter((asked) => asked !== was).map((asked) => [was, asked] as const),
);
const DAYS_MS = 40 * 24 * 60 * 60_000;

describe.skipIf(!(await has('postgres')))('a run that ended', () => {
  const { server, call } = ownServer();
  let connectionId: string;
  let made = 0;
  beforeAll(async () => {
    const of = { ingestMode: 'both', repositoryPath: 'acme/ended' };
    ({ connectionId } = await hook(server, 'github', of));
  });

  const post = async (path: string, body: object) => await call(`POST ${path}`, body);
  const patch = async (path: string, body: object) => await call(`PATCH ${path}`, body);
  const get = async (path: string) => (await call(`GET ${path}`)).body;
  const running = async (more: object = {}) => {
    made += 1;
    const report = { ciConnectionId: connectionId, externalRunId: `run-${made}`, ...more };
    const { body } = await post('/ci/runs', report);
    return { id: String(body['id']), report };
  };

  it.each(PAIRS)('as %s is not made %s by complete, PATCH, a report or another door', async (was, asked) => {
    const { id, report } = await running();
    await post(`/ci/runs/${id}/complete`, { status: was, durationMs: 1_200 });
    const before = await get(`/ci/runs/${id}`);
    const named = encodeURIComponent(`${connectionId}:1:${report.externalRunId}`);
    const answers = [
      await post(`/ci/runs/${id}/complete`, { status: asked }),
      await post(`/ci/runs/${named}/complete`, { status: asked, durationMs: 9 }),
      await patch(`/ci/runs/${id}`, { status: asked }),
      await post('/ci/runs', { ...report, status: asked }),
    ];
    for (const { code, status, text } of answers)
      expect([status, code], text).toEqual([409, 'state_conflict']);
    const word = `CI_STATUS_${asked.toUpperCase()}`;
    const connect = await post('/svc.ci.v1.CiService/Complete', { runId: id, status: word });
    expect(connect.body['code']).toBe('failed_precondition');
    expect(answers[0]?.body['error']).toMatchObject({
      code: 'state_conflict',
      message: expect.stringContaining(`the run ended as ${was} and does not change, asked for was ${asked}`),
      details: { runId: id, status: was, asked },
    });
    expect(await get(`/ci/runs/${id}`)).toEqual(before);
  });

  it('takes the same end again, and late news, without a change; what it was not told it takes', async () => {
    const { id, report } = await running();
    await post(`/ci/runs/${id}/complete`, { status: 'success', durationMs: 1_200 });
    const before = await get(`/ci/runs/${id}`);
    const again = [
      await post(`/ci/runs/${id}/complete`, { status: 'success', durationMs: 7 }),
      await patch(`/ci/runs/${id}`, { status: 'success', durationMs: 7 }),
      await patch(`/ci/runs/${id}`, { durationMs: 7 }),
      await patch(`/ci/runs/${id}`, { status: 'running' }),
      await post('/ci/runs', { ...report, status: 'running' }),
      await post('/ci/runs', { ...report, status: 'queued', durationMs: 7 }),
    ];
    for (const { status, body } of again) expect([status, body]).toEqual([200, before]);
    const more = await post('/ci/runs', { ...report, branch: 'main', externalUrl: 'https://ci.example/1' });
    expect(more.body).toMatchObject({
      status: 'success',
      branch: 'main',
      externalUrl: 'https://ci.example/1',
    });
    await post('/ci/runs', { ...report, externalUrl: 'https://ci.example/2' });
    expect((await get(`/ci/runs/${id}`))['externalUrl']).toBe('https://ci.example/1');
  });

  it('ended one way when two ends come at once', async () => {
    for (const isNew of [false, true, false, true, false, true]) {
      const name = isNew ? encodeURIComponent(`${connectionId}:1:race-${(made += 1)}`) : (await running()).id;
      const asked = ENDS.slice(0, 3).flatMap((status) => [status, status]);
      const answers = await Promise.all(
        asked.map(async (status) => await post(`/ci/runs/${name}/complete`, { status })),
      );
      const { status: stays } = await get(`/ci/runs/${name}`);
      expect(answers.map(({ status }) => status)).toEqual(asked.map((word) => (word === stays ? 200 : 409)));
    }
  });

  it.each(ENDS.slice(0, 3))(
    'as unknown, by its own job, takes %s by any call, and then stays',
    async (end) => {
      for (const tell of ['complete', 'patch', 'report', 'named'] as const) {
        const { id, report } = await running();
        const own = tell === 'report' ? await post('/ci/runs', { ...report, status: 'unknown' }) : undefined;
        const first = own ?? (await post(`/ci/runs/${id}/complete`, { status: 'unknown' }));
        expect([first.status, first.body['status']]).toEqual([200, 'unknown']);
        // Only forward: it does not run again.
        expect((await patch(`/ci/runs/${id}`, { status: 'running' })).body['status']).toBe('unknown');
        const named = encodeURIComponent(`${connectionId}:1:${report.externalRunId}`);
        const told = {
          complete: async () => await post(`/ci/runs/${id}/complete`, { status: end, durationMs: 900 }),
          patch: async () => await patch(`/ci/runs/${id}`, { status: end, durationMs: 900 }),
          report: async () => await post('/ci/runs', { ...report, status: end, durationMs: 900 }),
          named: async () => await post(`/ci/runs/${named}/complete`, { status: end, durationMs: 900 }),
        };
        const answer = await told[tell]();
        expect([answer.status, answer.body['status'], answer.body['durationMs']]).toEqual([200, end, 900]);
        const back = await post(`/ci/runs/${id}/complete`, { status: 'unknown' });
        expect([back.code, (await get(`/ci/runs/${id}`))['status']]).toEqual(['state_conflict', end]);
      }
    },
  );

  it('is lost only until somebody tells its end', async () => {
    const { id } = await running();
    await giveUpLost({ db: server.db, follow: wantCommitStatus }, new Date(Date.now() + DAYS_MS));
    expect(await get(`/ci/runs/${id}`)).toMatchObject({ status: 'unknown', reason: 'lost' });
    const told = await post(`/ci/runs/${id}/complete`, { status: 'failed' });
    expect([told.status, told.body['status']]).toEqual([200, 'failed']);
    expect((await post(`/ci/runs/${id}/complete`, { status: 'success' })).code).toBe('state_conflict');
  });

  describe('and its webhooks', () => {
    const SHA = '3484a3fb816e0859fd6e1cea078d76385ff50625';
    const time = (second: number) => `2026-07-01T10:00:${String(second).padStart(2, '0')}Z`;
    const github = (
      id: number,
      status: string,
      { conclusion, second }: { readonly conclusion?: string; readonly second?: number | undefined } = {},
    ) => ({
      repository: { id: 1, full_name: 'acme/hooks' },
      workflow_run: { id, status, conclusion, ...(second === undefined ? {} : { updated_at: time(second) }) },
    });
    const EVENT = { 'x-github-event': 'workflow_run' };
    const gitlab = (status: string, build: number) => ({
      object_kind: 'pipeline',
      object_attributes: { id: 31, status, sha: SHA, ref: 'main', finished_at: '2026-07-01 10:00:09 UTC' },
      project: { id: 7, path_with_namespace: 'acme/hooks' },
      builds: [{ id: build, status, name: 'unit', stage: 'test' }],
    });
    const lastOf = async (hooked: Hooked) => (await hooked.deliveries())[0];

    it.each([
      ['without times', undefined, undefined],
      ['with the same time', 50, 50],
      ['with a later time', 50, 55],
      ['with an earlier time', 50, 45],
    ])('are ignored with a reason when they say otherwise, %s', async (name, first, second) => {
      const hooked = await hook(server, 'github', {
        repositoryPath: 'acme/hooks',
        repositoryHost: `${name.replaceAll(' ', '-')}.example`,
      });
      await hooked.deliver(github(1, 'completed', { conclusion: 'success', second: first }), EVENT);
      const before = await hooked.run('1');
      await hooked.send(github(1, 'completed', { conclusion: 'failure', second }), EVENT);
      const other = await lastOf(hooked);
      expect(other).toMatchObject({ state: 'ignored', runId: before['id'] });
      expect(other?.['detail']).toBe('it says failed, the run ended as success and does not change');
      expect(await hooked.run('1')).toEqual(before);
      // What is only late is no contradiction.
      await hooked.send(github(1, 'in_progress', { second }), EVENT);
      expect(await lastOf(hooked)).toMatchObject({
        state: 'processed',
        changed: expect.stringContaining('nothing'),
      });
      expect(await hooked.run('1')).toEqual(before);
    });

    it('change nothing that a job told, nor the other way round', async () => {
      const hooked = await hook(server, 'github', {
        repositoryPath: 'acme/hooks',
        repositoryHost: 'both.example',
        ingestMode: 'both',
      });
      const direct = { ciConnectionId: hooked.connectionId, externalRunId: '2' };
      await post('/ci/runs', { ...direct, status: 'success' });
      await hooked.send(github(2, 'completed', { conclusion: 'failure', second: 50 }), EVENT);
      expect(await lastOf(hooked)).toMatchObject({ state: 'ignored' });
      expect((await hooked.run('2'))['status']).toBe('success');
      await hooked.deliver(github(3, 'completed', { conclusion: 'failure', second: 50 }), EVENT);
      expect((await post('/ci/runs', { ...direct, externalRunId: '3', status: 'success' })).code).toBe(
        'state_conflict',
      );
      // Run again, it is another attempt.
      const again = {
        repository: github(2, '').repository,
        workflow_run: {
          ...github(2, 'completed', { conclusion: 'failure', second: 59 }).workflow_run,
          run_attempt: 2,
        },
      };
      await hooked.deliver(again, EVENT);
      expect((await hooked.run('2', 2))['status']).toBe('failed');
      expect((await hooked.run('2', 1))['status']).toBe('success');
    });

    it('open it again where a provider runs it again under the same id, and in no other way', async () => {
      const hooked = await hook(server, 'gitlab', {
        repositoryPath: 'acme/hooks',
        repositoryHost: 'again.example',
        ingestMode: 'both',
      });
      const status = async (payload: object) => {
        await hooked.send(payload, { 'x-gitlab-event': 'Pipeline Hook' });
        const { state } = (await lastOf(hooked)) ?? {};
        return [state, (await hooked.run('31'))['status']];
      };
      expect(await status(gitlab('failed', 10))).toEqual(['processed', 'failed']);
      expect(await status(gitlab('success', 10))).toEqual(['ignored', 'failed']);
      expect(await status(gitlab('running', 12))).toEqual(['processed', 'running']);
      expect(await status(gitlab('success', 12))).toEqual(['processed', 'success']);
      expect(await status(gitlab('failed', 12))).toEqual(['ignored', 'success']);
    });
  });
});
