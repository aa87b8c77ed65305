import { beforeEach, describe, expect, it } from 'vitest';
import { apiError, logEvent, logStream, useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();

const queued = { id: 'run_1', state: 'queued' };
const ended = (state: string, more: object = {}) => ({
  body: { id: 'run_1', state, meteredMs: 1_200, runnerName: 'machine', ...more },
});
describe('svc runs create', () => {
  it('submits the words behind -- as they are, and prints the run', async () => {
    api.on('POST /teams/team_1/sandbox-runs', { status: 201, body: queued });
    const line = 'runs create --team team_1 --env A=1 --env B=2 --limits-memory-mb 64 -- echo';
    const { code, out } = await svc(api, [...line.split(' '), 'a b', '--json']);
    expect(code).toBe(0);
    expect(out).toBe('id\trun_1\nstate\tqueued\n');
    expect(api.asked[0]?.body).toEqual({
      command: ['echo', 'a b', '--json'],
      env: { A: '1', B: '2' },
      limits: { memoryMb: 64 },
    });
  });

  it('needs a command, and a team where the credential reaches several', async () => {
    await ends(api, 'runs create', { code: 2, says: 'needs -- <command>' });
    api.on('GET /teams', {
      body: {
        teams: [
          { id: 'team_1', name: 'one' },
          { id: 'team_2', name: 'two' },
        ],
      },
    });
    await ends(api, 'runs create -- true', { code: 2, says: 'teams: one (team_1), two (team_2)' });
  });
});

describe('svc runs wait', () => {
  it('waits through an outage', async () => {
    api.on(
      'GET /sandbox-runs/run_1',
      { body: { ...queued, state: 'running' } },
      // There are four, which is more than the retries of one call cover.
      ...Array.from({ length: 4 }, () => ({
        ...apiError(503, 'unavailable', 'restarting'),
        headers: { 'retry-after-ms': '1' },
      })),
      ended('succeeded'),
    );
    expect(await svc(api, 'runs wait run_1')).toMatchObject({ code: 0, err: '' });
  });

  it('prints the run and ends as it did', async () => {
    api.on('GET /sandbox-runs/run_1', ended('failed', { exitCode: 1, reason: 'exit' }));
    const { code, out, err } = await svc(api, 'runs wait run_1', { terminal: true });
    expect(code).toBe(1);
    expect(out).toContain('state       failed');
    expect(err).toBe('run run_1 failed (exit code 1) after 1.2s on machine\n');
  });
});

describe('svc runs logs', () => {
  const route = 'GET /sandbox-runs/run_1/logs';
  beforeEach(() => api.on('GET /sandbox-runs/run_1', ended('succeeded')));

  it('writes the output and nothing else', async () => {
    api.on(route, logStream([logEvent(5, 'stdout', 'from '), logEvent(13, 'stdout', 'the cli\n')]));
    expect(await svc(api, 'runs logs run_1')).toMatchObject({ code: 0, out: 'from the cli\n', err: '' });
    expect(api.asked[0]).toMatchObject({
      target: '/sandbox-runs/run_1/logs',
      headers: { accept: 'text/event-stream' },
    });
  });

  it('goes on from the last event when the connection breaks', async () => {
    api.on(
      route,
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`id: 1-4\ndata: ${JSON.stringify(logEvent(4, 'stdout', 'one\n'))}\n\n`, () =>
          response.socket?.resetAndDestroy(),
        );
      },
      logStream([logEvent(8, 'stdout', 'two\n')]),
    );
    expect(await svc(api, 'runs logs run_1')).toMatchObject({ code: 0, out: 'one\ntwo\n' });
    expect(api.asked[1]?.headers['last-event-id']).toBe('1-4');
  });

  it('says when the run began anew, and shows lines of the runner apart', async () => {
    api.on(
      route,
      logStream([
        logEvent(4, 'stdout', 'one\n'),
        logEvent(4, 'stdout', { text: 'two\n', epoch: 2 }),
        logEvent(9, 'runner', { text: 'cut off\n', epoch: 2 }),
      ]),
    );
    const { out, err } = await svc(api, 'runs logs run_1');
    expect(out).toBe('one\ntwo\n');
    expect(err).toBe('the run was started again; its output begins anew\ncut off\n');
  });

  it('is harmless on a terminal', async () => {
    api.on(route, logStream([logEvent(4, 'stdout', '\u001b]0;owned\u0007x\n')]));
    expect((await svc(api, 'runs logs run_1', { terminal: true })).out).toBe('\\x1b]0;owned\\x07x\n');
    expect((await svc(api, 'runs logs run_1')).out).toBe('\u001b]0;owned\u0007x\n');
  });

  it('is one line of JSON an event with --json', async () => {
    const event = logEvent(4, 'stdout', 'one\n');
    api.on(route, logStream([event, event]));
    const { out } = await svc(api, 'runs logs run_1 --json');
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([event, event]);
  });

  it('passes --no-follow and --after on', async () => {
    api.on(route, logStream([]));
    await svc(api, 'runs logs run_1 --no-follow --after 1-4');
    expect(api.asked[0]?.target).toBe('/sandbox-runs/run_1/logs?follow=false&after=1-4');
  });

  it('puts times in front of lines with --timestamps', async () => {
    api.on(route, logStream([logEvent(2, 'stdout', 'on'), logEvent(8, 'stdout', 'e\ntwo\n')]));
    const at = '2026-11-20T08:00:00Z';
    expect((await svc(api, 'runs logs run_1 --timestamps')).out).toBe(`${at} one\n${at} two\n`);
  });

  it.each([
    ['succeeded', 0],
    ['failed', 1],
    ['running', 8],
  ])('ends as the run does, and with --exit-status says that it is not over: %s', async (state, code) => {
    api.on(route, logStream([logEvent(4, 'stdout', 'one\n')]));
    api.on('GET /sandbox-runs/run_1', ended(state));
    expect(await svc(api, 'runs logs run_1 --exit-status')).toMatchObject({ code, out: 'one\n' });
    const plain = code === 8 ? 0 : code;
    expect(await svc(api, 'runs logs run_1')).toMatchObject({ code: plain, out: 'one\n' });
    expect((await svc(api, 'runs logs run_1 --json')).code).toBe(plain);
  });

  it('warns when output is missing', async () => {
    const lost = { ...logEvent(9, 'runner', '[5 bytes are missing]\n'), missingBytes: 5 };
    api.on(route, logStream([lost]));
    expect((await svc(api, 'runs logs run_1')).err).toBe(
      '[5 bytes are missing]\nwarning: 5 bytes of this output are missing\n',
    );
  });

  it('ends with 5 for a run that is not there', async () => {
    api.on(route, apiError(404, 'not_found', 'no such run'));
    expect(await svc(api, 'runs logs run_1')).toMatchObject({ code: 5, out: '' });
  });
});
