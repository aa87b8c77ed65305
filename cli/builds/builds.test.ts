import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { logStream, useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

const route = 'GET /environments/env_1/builds/bld_1/logs';
const line = 'builds logs bld_1 --env env_1';

const event = (offset: number, more: object, attempt = 1) => ({
  position: `${attempt}-${offset}`,
  attempt,
  ...more,
});
const text = (offset: number, stream: string, said: string, attempt = 1) =>
  event(offset, { stream, text: said }, attempt);

const STORY = [
  event(0, { state: 'queued' }),
  event(1, { state: 'running' }),
  event(2, { phase: 'cloning' }),
  text(3, 'stdout', 'Cloning into app\n'),
  event(4, { phase: 'building' }),
  text(5, 'stderr', 'warning: old\n'),
  text(6, 'stdout', 'done\n'),
  event(7, { state: 'failed' }),
];

function ended(state: string, more: object = {}): void {
  api.on('GET /environments/env_1/builds/bld_1', {
    body: {
      id: 'bld_1',
      state,
      phase: 'building',
      meteredMs: 130_000,
      runnerName: 'machine',
      phases: [
        { phase: 'cloning', startedAt: '2026-11-20T08:00:00Z', finishedAt: '2026-11-20T08:00:02Z' },
        { phase: 'building', startedAt: '2026-11-20T08:00:02Z', finishedAt: '2026-11-20T08:02:10Z' },
      ],
      ...more,
    },
  });
}

it('submits the build and prints it', async () => {
  api.on('POST /environments/env_1/builds', { status: 201, body: { id: 'bld_1', state: 'queued' } });
  const { code, out } = await svc(api, 'builds create env_1 --json');
  expect([code, JSON.parse(out)]).toMatchObject([0, { id: 'bld_1', state: 'queued' }]);
  expect(api.asked).toHaveLength(1);
});

describe('svc builds logs', () => {
  beforeEach(() => ended('succeeded'));

  it('writes the output alone into a pipe', async () => {
    api.on(route, logStream(STORY));
    expect(await svc(api, line)).toMatchObject({
      code: 0,
      out: 'Cloning into app\ndone\n',
      err: 'warning: old\n',
    });
  });

  it('puts times in front of lines with --timestamps, in front of headings too', async () => {
    const [at, later] = ['2026-11-20T08:00:00Z', '2026-11-20T08:00:09Z'];
    const cut = [
      event(1, { phase: 'cloning', at }),
      { ...text(2, 'stdout', 'on'), at },
      { ...text(3, 'stdout', 'e\ntwo\n'), at: later },
    ];
    api.on(route, logStream(cut));
    expect((await svc(api, `${line} --timestamps`)).out).toBe(`${at} one\n${later} two\n`);
    api.on(route, logStream(cut));
    ended('succeeded');
    const { out } = await svc(api, `${line} --timestamps`, { terminal: true });
    expect(out).toBe(`${at} ==> cloning\n${at} one\n${later} two\n`);
  });

  it('has headings for phases and tells the end on a terminal, in colour unless it is not wanted', async () => {
    api.on(route, logStream(STORY));
    ended('failed', { exitCode: 2 });
    const { out, err } = await svc(api, line, { terminal: true });
    expect(out).toBe(
      '--- queued\n--- running\n==> cloning\nCloning into app\n==> building\ndone\n--- failed\n',
    );
    expect(err).toBe(
      'warning: old\nbuild bld_1 failed while building: exit code 2 after 2m 10s via machine (cloning 2s, building 2m 8s)\n',
    );
    const painted = await svc(api, line, { terminal: true, env: { NO_COLOR: '' } });
    expect(painted.out).toContain('\u001b[1m==> cloning\u001b[22m\n');
    expect(painted.out).toContain('\u001b[31m--- failed\u001b[39m\n');
  });

  it.each([
    ['succeeded', 0],
    ['failed', 1],
    ['cancelled', 1],
    ['awaiting_approval', 8],
  ])('ends as the build does, and with --exit-status says that it is not over: %s', async (state, code) => {
    api.on(route, logStream(STORY));
    ended(state);
    expect((await svc(api, `${line} --exit-status`)).code).toBe(code);
    expect((await svc(api, `${line} --exit-status --json`)).code).toBe(code);
    const plain = code === 8 ? 0 : code;
    expect((await svc(api, line)).code).toBe(plain);
    expect((await svc(api, `${line} --json`)).code).toBe(plain);
    expect((await svc(api, `${line} --no-follow`)).code).toBe(plain);
  });

  it('goes on behind the last event when the control plane was away for longer than the SDK waits', async () => {
    const cut = (events: readonly object[]) => (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const said = events.map(
        (one) => `id: ${(one as { position: string }).position}\ndata: ${JSON.stringify(one)}\n\n`,
      );
      response.write(said.join(''), () => response.socket?.resetAndDestroy());
    };
    const away = { status: 503, body: { error: { code: 'unavailable', message: 'away', retryable: true } } };
    api.on(route, cut(STORY.slice(0, 4)), away, away, away, away, logStream(STORY.slice(4)));
    const { code, out } = await svc(api, `${line} --tail-bytes 100`);
    expect({ code, out }).toEqual({ code: 0, out: 'Cloning into app\ndone\n' });
    expect(api.asked[0]?.target).toContain('tailBytes=100');
    const again = api.asked.at(-2)?.target;
    expect(again).toContain('after=1-3');
    expect(again).not.toContain('tailBytes');
  }, 20_000);

  it('says how much is missing, and when the build began anew', async () => {
    const lost = { stream: 'runner', text: '[90 bytes are missing]\n', missingBytes: 90 };
    api.on(route, logStream([event(3, lost), text(4, 'stdout', 'again\n', 2)]));
    expect((await svc(api, line)).err).toBe(
      '[90 bytes are missing]\nthe build was started again; its output begins anew\nwarning: 90 bytes of this output are missing\n',
    );
  });
});
