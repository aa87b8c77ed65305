/** Names stand in place of ids, and the place in use fills what is left out, up to the request. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { useFakeApi, useFolder } from '../testing/fake-api.ts';
import type { FakeIoOptions } from '../testing/fake-io.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();
const root = useFolder('place');
let count = 0;
let work: FakeIoOptions & { readonly workFolder: string };

const TEAMS = [
  { id: 'team_1', name: 'first team' },
  { id: 'team_2', name: 'other' },
];
const PROJECTS = [
  { id: 'prj_1', slug: 'web', name: 'Web', teamId: 'team_1' },
  { id: 'prj_2', slug: 'web', name: 'Second', teamId: 'team_2' },
  { id: 'prj_3', slug: 'api', name: 'Api', teamId: 'team_2' },
];
const RUNNER = 'rnr_01k9abcdefghjkmnpqrstvwxyz';

beforeEach(() => {
  count += 1;
  const folder = join(root, String(count));
  mkdirSync(join(folder, '.git'), { recursive: true });
  work = { workFolder: folder, homeFolder: folder };
  api.on('GET /teams', { body: { teams: TEAMS } });
  api.on('GET /projects', (response, { target }) => {
    const teamId = new URL(target, 'http://x').searchParams.get('teamId');
    const projects = PROJECTS.filter((project) => teamId === null || project.teamId === teamId);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ projects }));
  });
  for (const project of PROJECTS) {
    api.on(`GET /projects/${project.id}`, { body: project });
    api.on(`GET /projects/${project.id}/environments`, {
      body: { environments: [{ id: `env_${project.id}`, name: 'production' }] },
    });
    api.on(`GET /environments/env_${project.id}`, {
      body: { id: `env_${project.id}`, name: 'production', projectId: project.id },
    });
    api.on(`GET /environments/env_${project.id}/variables`, { body: { variables: [] } });
  }
  for (const { id } of TEAMS) {
    api.on(`GET /teams/${id}/runners`, {
      body: {
        runners: [
          { id: RUNNER, name: 'a' },
          { id: 'rnr_2', name: 'b' },
          { id: 'rnr_3', name: 'b' },
        ],
      },
    });
    api.on(`GET /teams/${id}/runners/${RUNNER}`, { body: { id: RUNNER } });
    api.on(`GET /teams/${id}/usage`, { body: {} });
  }
});

/** Requests that are not of the feature gate. */
const targets = (): readonly string[] =>
  api.asked
    .map(({ target }) => target.split('?')[0] ?? '')
    .filter((path) => path !== '/platform-features/resolved');
const last = (): string => targets().at(-1) ?? '';
const run = (line: string | readonly string[], env: Readonly<Record<string, string>> = {}) =>
  svc(api, line, { ...work, env });
const signIn = (place?: object): void => {
  const folder = join(work.workFolder, '.config', 'svc');
  mkdirSync(folder, { recursive: true });
  const profile = { baseUrl: api.url, kind: 'session', credential: 'tok_1', ...(place && { place }) };
  const text = JSON.stringify({ profiles: { default: profile } });
  writeFileSync(join(folder, 'config.json'), text, { mode: 0o600 });
};
/** The credential of the profile, which the variables would replace. */
const signedIn = { SVC_API_KEY: '', SVC_BASE_URL: '' };

describe('a name in place of an id', () => {
  it('is found by its whole text, in any place', async () => {
    expect(await run(['runners', 'list', '--team', 'first team'])).toMatchObject({ code: 0 });
    expect(last()).toBe('/teams/team_1/runners');
    expect(await run(['runners', 'status', 'a', '--team', 'first team'])).toMatchObject({ code: 0 });
    expect(last()).toBe(`/teams/team_1/runners/${RUNNER}`);
    expect(await run('variables list other/web/production')).toMatchObject({ code: 0, err: '' });
    expect(last()).toBe('/environments/env_prj_2/variables');
    expect(await run('variables list api/production')).toMatchObject({ code: 0 });
    expect(last()).toBe('/environments/env_prj_3/variables');
  });

  it('costs no request where it is an id', async () => {
    expect(await run(`runners status ${RUNNER} --team team_1`)).toMatchObject({ code: 0 });
    expect(targets()).toEqual([`/teams/team_1/runners/${RUNNER}`]);
  });

  it('may be the beginning of an id, as tables show it', async () => {
    expect(await run(`runners status ${RUNNER.slice(0, 16)} --team team_1`)).toMatchObject({ code: 0 });
    expect(last()).toBe(`/teams/team_1/runners/${RUNNER}`);
  });

  it('is refused where several go by it, with all of them', async () => {
    await ends(api, 'runners status b --team team_1', {
      ...work,
      code: 2,
      says: /2 runners go by "b"; give the id of one\n\s+b \(rnr_2\)\n\s+b \(rnr_3\)/,
    });
    await ends(api, 'variables list web/production', { ...work, code: 2, says: '2 projects go by "web"' });
    expect(await run('variables list web/production', { SVC_TEAM: 'other' })).toMatchObject({ code: 0 });
    expect(last()).toBe('/environments/env_prj_2/variables');
  });

  it('is refused where nothing goes by it, also by a part of a name', async () => {
    const says = 'there is no runner "aa"';
    await ends(api, 'runners status aa --team team_1', { ...work, code: 5, says });
    await ends(api, ['runners', 'list', '--team', 'first'], { ...work, code: 5, says: 'no team "first"' });
  });
});

describe('one command in several words', () => {
  it.each([
    [['runners', 'get', RUNNER, '--team', 'team_1'], `/teams/team_1/runners/${RUNNER}`],
    [['runners', 'status', RUNNER, '--team', 'team_1'], `/teams/team_1/runners/${RUNNER}`],
    [['runners', 'list', 'first team'], '/teams/team_1/runners'],
    [['runners', 'list', '--team', 'first team'], '/teams/team_1/runners'],
    [['variables', 'list', 'api/production'], '/environments/env_prj_3/variables'],
    [['variables', 'list', '--env', 'api/production'], '/environments/env_prj_3/variables'],
  ])('%j', async (line, target) => {
    expect(await run(line)).toMatchObject({ code: 0, err: '' });
    expect(last()).toBe(target);
  });

  it('shows the one verb, and the others beside it', async () => {
    const { out } = await run('runners --help');
    expect(out).toMatch(/^ {2}get /m);
    expect(out).not.toMatch(/^ {2}status /m);
    expect((await run('runners get --help')).out).toContain('Also: svc runners status.');
    expect((await run('runners status --help')).out).toMatch(/^svc runners status: /);
  });

  it('takes --team where the flag of the contract is another', async () => {
    api.on('GET /teams/team_1/search', { body: { hits: [] } });
    expect(await run(['teams', 'search', 'x', '--team', 'first team'])).toMatchObject({ code: 0 });
    expect(last()).toBe('/teams/team_1/search');
  });

  it('takes no command that lacks its dashes for a team', async () => {
    await ends(api, 'runs create echo hi', { ...work, code: 2, says: 'the command goes behind "--"' });
  });
});

describe('the place in use', () => {
  it('is the only team of the credential, and one that is asked for where there are several', async () => {
    await ends(api, 'runners list', {
      ...work,
      code: 2,
      says: 'which team? None is named, and none is in use',
    });
    const pool = { id: 'team_3', name: 'service pool', servicePool: true };
    for (const teams of [TEAMS.slice(0, 1), [pool, ...TEAMS.slice(0, 1)]]) {
      api.on('GET /teams', { body: { teams } });
      expect(await run('runners list')).toMatchObject({ code: 0 });
      expect(last()).toBe('/teams/team_1/runners');
    }
  });

  it('says all ways to say it', async () => {
    const { err } = await run('runners list');
    for (const way of ['--team', 'SVC_TEAM', '.svc.yaml', 'svc use', 'first team (team_1)'])
      expect(err).toContain(way);
  });

  it('goes by flag, variable, file and profile, in this order', async () => {
    signIn({ team: 'team_9' });
    for (const id of ['team_8', 'team_7', 'team_9'])
      api.on(`GET /teams/${id}/runners`, { body: { runners: [] } });
    const listed = async (words: string, env = {}): Promise<string> => {
      expect(await run(words, { ...signedIn, ...env })).toMatchObject({ code: 0 });
      return last();
    };
    expect(await listed('runners list')).toBe('/teams/team_9/runners');
    writeFileSync(join(work.workFolder, '.svc.yaml'), 'team: team_8\n');
    expect(await listed('runners list')).toBe('/teams/team_8/runners');
    expect(await listed('runners list', { SVC_TEAM: 'team_7' })).toBe('/teams/team_7/runners');
    expect(await listed('runners list --team team_1', { SVC_TEAM: 'team_7' })).toBe('/teams/team_1/runners');
  });

  it('takes no environment of another project, and no id of another server', async () => {
    signIn({ team: 'team_1', project: 'prj_1', environment: 'env_prj_1' });
    expect(await run('variables list', signedIn)).toMatchObject({ code: 0 });
    expect(last()).toBe('/environments/env_prj_1/variables');
    const says = 'which environment?';
    const env = { ...signedIn, SVC_PROJECT: 'prj_3' };
    await ends(api, 'variables list', { ...work, env, code: 2, says });
    const there = { SVC_BASE_URL: api.url.replace('127.0.0.1', 'localhost') };
    await ends(api, 'variables list', { ...work, env: there, code: 2, says });
  });

  it('gives the team of its project', async () => {
    expect(await run('runners list', { SVC_ENVIRONMENT: 'api/production' })).toMatchObject({ code: 0 });
    expect(last()).toBe('/teams/team_2/runners');
  });

  it('is never what is destroyed', async () => {
    const env = { SVC_TEAM: 'team_1', SVC_PROJECT: 'prj_1', SVC_ENVIRONMENT: 'env_prj_1' };
    for (const line of ['teams delete', 'projects delete', 'environments delete'])
      await ends(api, line, { ...work, env, code: 2, says: 'needs <' });
    expect(api.asked).toEqual([]);
  });

  it('is nothing that a file could lead elsewhere', async () => {
    writeFileSync(join(work.workFolder, '.svc.yaml'), 'team: team_1\nbaseUrl: http://127.0.0.1:9\n');
    await ends(api, 'runners list', { ...work, code: 2, says: 'it has the key "baseUrl"' });
    expect(await run('runners list --team team_1')).toMatchObject({ code: 0 });
  });

  it('is asked for in the words of a destructive command', async () => {
    const path = `DELETE /teams/team_1/runners/${RUNNER}`;
    api.on(path, { status: 204 });
    const { io, code } = await svc(api, 'runners revoke a', {
      ...work,
      terminal: true,
      answers: ['y'],
      env: { SVC_TEAM: 'team_1' },
    });
    expect([code, io.questions[0]]).toEqual([0, expect.stringContaining(`a (${RUNNER})`)]);
  });
});

describe('svc use', () => {
  beforeEach(() => signIn());
  const stored = (): unknown =>
    (
      JSON.parse(readFileSync(join(work.workFolder, '.config/svc/config.json'), 'utf8')) as {
        readonly profiles: { readonly default: { readonly place?: unknown } };
      }
    ).profiles.default.place;

  it('keeps a team, a project or an environment, with what is around it', async () => {
    expect(await run(['use', 'first team'], signedIn)).toMatchObject({ code: 0 });
    expect(stored()).toEqual({ team: 'team_1' });
    expect(await run('use api', signedIn)).toMatchObject({ code: 5 });
    expect(await run('use --team other --project api', signedIn)).toMatchObject({ code: 0 });
    expect(stored()).toEqual({ team: 'team_2', project: 'prj_3' });
    expect(await run('use web/production', signedIn)).toMatchObject({ code: 0 });
    expect(stored()).toEqual({ team: 'team_2', project: 'prj_2', environment: 'env_prj_2' });
    expect(await run('use --clear', signedIn)).toMatchObject({ code: 0 });
    expect(stored()).toBeUndefined();
  });

  it('writes names to the file of a folder, and replaces one when told to', async () => {
    expect(await run('use other/web/production --here', signedIn)).toMatchObject({ code: 0 });
    const path = join(work.workFolder, '.svc.yaml');
    expect(readFileSync(path, 'utf8')).toBe('team: other\nproject: web\nenvironment: production\n');
    expect(stored()).toBeUndefined();
    await ends(api, 'use team_1 --here', { ...work, env: signedIn, code: 2, says: 'is there already' });
    expect(await run('use team_1 --here --yes', signedIn)).toMatchObject({ code: 0 });
    expect(readFileSync(path, 'utf8')).toBe('team: first team\n');
  });

  it.each([
    ['use', 'name one place'],
    ['use web --team x', 'name one place'],
    ['use web --clear', '--clear stands alone'],
    ['use web', '2 projects go by "web"'],
  ])('refuses %s', async (line, says) => {
    await ends(api, line, {
      ...work,
      env: signedIn,
      code: 2,
      says: line === 'use web' ? 'go by "web"' : says,
    });
  });
});

describe('svc status', () => {
  it('says what counts, and why', async () => {
    api.on('GET /account', { body: { email: 'me@example.com' } });
    writeFileSync(join(work.workFolder, '.svc.yaml'), 'team: other\nproject: api\n');
    const { out, code } = await run('status --json');
    expect(JSON.parse(out)).toMatchObject({
      baseUrl: api.url,
      account: 'me@example.com',
      credentialFrom: 'SVC_API_KEY',
      team: { id: 'team_2', name: 'other', from: join(work.workFolder, '.svc.yaml') },
      project: { id: 'prj_3', name: 'Api', from: join(work.workFolder, '.svc.yaml') },
      environment: {},
    });
    expect(code).toBe(0);
  });

  it('ends with 4 without a credential, and with 1 where what is in use is gone', async () => {
    await ends(api, 'status', { ...work, env: { SVC_API_KEY: '' }, code: 4, says: 'not signed in' });
    api.on('GET /account', { body: { email: 'me@example.com' } });
    const { out, code } = await run('status --json', { SVC_TEAM: 'gone' });
    expect([code, JSON.parse(out)]).toEqual([
      1,
      expect.objectContaining({
        team: expect.objectContaining({
          problem: expect.stringContaining('no team "gone"') as string,
        }) as object,
      }),
    ]);
  });
});
