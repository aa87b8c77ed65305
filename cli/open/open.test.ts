import { beforeEach, describe, expect, it } from 'vitest';
import { kinds } from '../gen/kinds.ts';
import { browserOf } from '../shell/browser.ts';
import { useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';
import { consoleUrl, pageUrl } from './console.ts';

const api = await useFakeApi();
const HITS = [
  { kind: 'run', id: 'run_1' },
  { kind: 'build', id: 'bld_1', name: '7', projectId: 'prj_1', environmentId: 'env_1' },
  { kind: 'runner', id: 'rnr_1', name: 'machine-a' },
  { kind: 'release', id: 'rel_1', name: '1.4.0', projectId: 'prj_1' },
  { kind: 'release', id: 'rel_2', name: '1.4.0', projectId: 'prj_2' },
  { kind: 'CI pipeline', id: 'cip_1', name: 'deploy' },
];

beforeEach(() => {
  api.on('GET /teams', { body: { teams: [{ id: 'team_1', name: 'first team' }] } });
  api.on('GET /projects', { body: { projects: [{ id: 'prj_1', slug: 'web', name: 'Web' }] } });
  api.on('GET /projects/prj_1', { body: { id: 'prj_1', teamId: 'team_1' } });
  api.on('GET /projects/prj_1/environments', { body: { environments: [{ id: 'env_1', name: 'a/b' }] } });
  api.on('GET /teams/team_1/search', (response, { target }) => {
    const text = new URL(target, 'http://x').searchParams.get('text') ?? '';
    const hits = HITS.filter(({ id, name }) => id === text || name?.includes(text) === true);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ hits }));
  });
});

/** Address below that of the console which `svc open` prints. */
async function opened(...words: readonly string[]): Promise<string> {
  const { code, out } = await svc(api, ['open', ...words], { env: { SVC_TEAM: 'first team' } });
  expect(code).toBe(0);
  return out.trim().replace(`${api.url}/console`, '');
}

describe('svc open', () => {
  it.each([
    ['run_1', '/teams/team_1/sandbox-runs/run_1'],
    ['bld_1', '/environments/env_1/builds/bld_1'],
    ['machine-a', '/teams/team_1/runners/rnr_1'],
    ['rel_2', '/projects/prj_2/releases/rel_2'],
    ['web', '/projects/prj_1'],
    ['prj_9', '/projects/prj_9'],
    ['env_9', '/environments/env_9'],
    ['first team', '/teams/team_1'],
    ['key_1', '/account/api-keys/key_1'],
    ['whe_1', '/teams/team_1/webhook-endpoints/whe_1'],
  ])('finds the page of %s', async (thing, page) => expect(await opened(thing)).toBe(page));

  it('opens the place in use, or the one that is named', async () => {
    expect(await opened()).toBe('/teams/team_1');
    expect(await opened('--project', 'web')).toBe('/projects/prj_1');
    expect(await opened('--env', 'env_1')).toBe('/environments/env_1');
    const { out } = await svc(api, 'open', { env: { SVC_ENVIRONMENT: 'env_1' } });
    expect(out).toBe(`${api.url}/console/environments/env_1\n`);
  });

  it('starts the browser where there is one, and prints the address otherwise', async () => {
    const url = `${api.url}/console/projects/prj_1`;
    const { out, err, io } = await svc(api, 'open prj_1', { browser: true, terminal: true });
    expect([out, err, io.browsed]).toEqual(['', `opened ${url}\n`, [url]]);
    for (const line of ['open prj_1 --print', 'open prj_1 --jq .url']) {
      const printed = await svc(api, line, { browser: true });
      expect([printed.out, printed.io.browsed]).toEqual([`${url}\n`, []]);
    }
  });

  it('says which there are, what there is not, and what has no page', async () => {
    const env = { SVC_TEAM: 'team_1' };
    await ends(api, 'open 1.4.0', { env, code: 2, says: '2 things go by "1.4.0"' });
    expect(await opened('1.4.0', '--project', 'prj_1')).toBe('/projects/prj_1/releases/rel_1');
    await ends(api, 'open nothing', { env, code: 5, says: 'there is no thing "nothing"' });
    await ends(api, 'open deploy', { env, code: 5, says: 'there is no thing "deploy"' });
    await ends(api, 'open bld_9', { env, code: 5, says: 'there is no thing "bld_9"' });
  });

  it('makes one word of an id or a name, whatever is in it', async () => {
    const hostile = `rnr_'";$(touch x)\`&|%\u001b?#/..`;
    expect(pageUrl('https://x', 'runners', { id: hostile, teamId: 'team_1' })).toBe(
      `https://x/console/teams/team_1/runners/${encodeURIComponent(hostile)}`,
    );
    expect(consoleUrl('https://x', 'a/b')).toBe('https://x/console/a%2Fb');
    expect(pageUrl('https://x', 'builds', { id: 'bld_1' })).toBeUndefined();
  });
});

describe('the pages of kinds', () => {
  it('are addresses that the ids of a thing fill', () => {
    const where = { id: 'x', teamId: 't', projectId: 'p', environmentId: 'e' };
    const unfilled = Object.entries(kinds).filter(
      ([key, { page }]) => page !== undefined && pageUrl('', key, where) === undefined,
    );
    expect(unfilled).toEqual([]);
  });
});

describe('browserOf()', () => {
  it.each([
    [{ DISPLAY: ':0' }, 'linux', ['xdg-open']],
    [{ WAYLAND_DISPLAY: 'wayland-0' }, 'linux', ['xdg-open']],
    [{ DISPLAY: '' }, 'linux', undefined],
    [{ DISPLAY: ':10', SSH_CONNECTION: '::1' }, 'linux', undefined],
    [{ SSH_TTY: '/dev/ttys1' }, 'darwin', undefined],
    [{}, 'darwin', ['open']],
    [{}, 'win32', ['rundll32', 'url.dll,FileProtocolHandler']],
  ])('of %j on %s', (env, platform, program) => expect(browserOf(env, platform)).toEqual(program));
});
