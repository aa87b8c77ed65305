import { describe, expect, it } from 'vitest';
import { run as runLine } from '../shell/run.ts';
import { apiError, logStream, useFakeApi } from '../testing/fake-api.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

const get = 'GET /environments/env_1/builds/bld_1';
const build = (state: string, more: object = {}) => ({
  body: { id: 'bld_1', environmentId: 'env_1', state, phases: [], ...more },
});
const ended = (state: string, more: object = {}) => build(state, { meteredMs: 1_200, ...more });
const submits = (): void => api.on('POST /environments/env_1/builds', { status: 201, ...build('queued') });
const ENDS = [
  ['succeeded', {}, 0],
  ['failed', { exitCode: 3, phase: 'building' }, 1],
  ['cancelled', { message: 'its deploy was rejected; the image stays' }, 1],
] as const;
const OUTPUT = [
  { position: '0-1-0-0', attempt: 1, state: 'running' },
  { position: '0-1-4-0', attempt: 1, stream: 'stdout', text: 'out\n' },
  { position: '0-1-8-0', attempt: 1, stream: 'stderr', text: 'err\n' },
];

describe('svc builds create', () => {
  it('submits the build and prints it', async () => {
    submits();
    const { code, out } = await svc(api, 'builds create env_1 --json');
    expect([code, JSON.parse(out)]).toMatchObject([0, { id: 'bld_1', state: 'queued' }]);
    expect(api.asked).toHaveLength(1);
  });

  it.each(ENDS)('with --wait ends as the build does: %s', async (state, more, code) => {
    submits();
    api.on(get, build('running'), ended(state, more));
    const waited = await svc(api, 'builds create env_1 --wait --json');
    expect(waited.code).toBe(code);
    expect(JSON.parse(waited.out)).toMatchObject({ id: 'bld_1', state });
  });

  it('with --wait ends with 8 when the build is not over in time', async () => {
    submits();
    api.on(get, build('awaiting_approval'));
    const { code, out, err } = await svc(api, 'builds create env_1 --wait --timeout 600ms --json');
    expect(code).toBe(8);
    expect(JSON.parse(out)).toMatchObject({ state: 'awaiting_approval' });
    expect(err).toBe(
      'the build goes on; "svc builds wait bld_1 --env env_1" waits for it, "svc builds cancel bld_1 --env env_1" ends it\n',
    );
  });

  it.each(ENDS)('with --follow writes the output, then how it ended: %s', async (state, more, code) => {
    submits();
    api.on(`${get}/logs`, logStream([...OUTPUT, { position: '0-1-8-1', attempt: 1, state }]));
    api.on(get, ended(state, more));
    const followed = await svc(api, 'builds create env_1 --follow');
    expect(followed).toMatchObject({ code, out: 'out\n' });
    expect(followed.err).toMatch(new RegExp(`^err\\nbuild bld_1 ${state}.* after 1.2s`));
  });

  it('with --follow --json keeps standard output for the build, on a terminal too', async () => {
    submits();
    api.on(`${get}/logs`, logStream(OUTPUT));
    api.on(get, ended('succeeded'));
    const { code, out, err } = await svc(api, 'builds create env_1 -f --json', { terminal: true });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ state: 'succeeded' });
    expect(err).toContain('out\nerr\n');
  });

  it('with --follow ends with 8 at --timeout', async () => {
    submits();
    api.on(`${get}/logs`, logStream(OUTPUT, 'open'));
    api.on(get, build('running'));
    expect(await svc(api, 'builds create env_1 --follow --timeout 500ms')).toMatchObject({
      code: 8,
      out: 'out\n',
    });
  });

  it('leaves the build running at Ctrl-C, and says so', async () => {
    submits();
    const io = fakeIo({ env: { SVC_BASE_URL: api.url } });
    api.on(get, () => io.interrupt());
    expect(await runLine('builds create env_1 --wait'.split(' '), io)).toBe(130);
    expect(io.err()).toContain('the build goes on; "svc builds wait bld_1 --env env_1" waits for it');
  });
});

describe('svc builds wait', () => {
  it.each(ENDS)('prints the build and ends as it did: %s', async (state, more, code) => {
    api.on(get, build('queued'), build('publishing'), ended(state, more));
    const waited = await svc(api, 'builds wait bld_1 --env env_1 --json');
    expect(waited.code).toBe(code);
    expect(JSON.parse(waited.out)).toMatchObject({ state });
  });

  it('ends with 5 for a build that is not there', async () => {
    api.on(get, apiError(404, 'not_found', 'no such build'));
    expect(await svc(api, 'builds wait bld_1 --env env_1')).toMatchObject({ code: 5 });
  });
});
