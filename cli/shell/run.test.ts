/** Generated commands against a fake API: what goes out, what is shown, and what it ends with. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apiError, startFakeApi, useFakeApi, useFolder } from '../testing/fake-api.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { ends, svc } from '../testing/session.ts';
import { areas } from '../gen/index.ts';
import { run } from './run.ts';
import { commandTree } from './tree.ts';

const api = await useFakeApi();
const folder = useFolder('run');

const regions = { regions: [{ id: 'region_1', name: 'Home', operator: 'customer' }] };

describe('a call', () => {
  it('sends credential and name, and shows a list', async () => {
    api.on('GET /regions', { body: regions });
    const { code, out } = await svc(api, 'regions list');
    expect(code).toBe(0);
    expect(out.split('\n')[1]).toContain('region_1');
    expect(api.asked[0]?.headers).toMatchObject({
      authorization: 'Bearer key_1',
      'user-agent': 'svc-cli/0.10.0',
    });
  });

  it('prints the objects of the API exactly with --json', async () => {
    api.on('GET /regions', { body: regions });
    expect(JSON.parse((await svc(api, 'regions list --json')).out)).toEqual(regions.regions);
  });

  it('puts path, query and body where they belong', async () => {
    api.on('POST /teams/team_1/runners/rnr_1/pause', { body: { id: 'rnr_1' } });
    await svc(api, 'runners pause rnr_1 --team team_1 --minutes 5 --note=-');
    expect(api.asked.at(-1)?.body).toEqual({ minutes: 5, note: '-' });
    expect(api.asked.at(-1)?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
    api.on('GET /teams/team_1/runners', { body: { runners: [] } });
    await svc(api, 'runners list --team team_1 --include-revoked');
    expect(api.asked.at(-1)?.target).toBe('/teams/team_1/runners?includeRevoked=true');
  });

  it('shows one object as names and values', async () => {
    api.on('GET /sandbox-runs/run_1', { body: { id: 'run_1', state: 'queued', limits: { cpus: 1 } } });
    expect((await svc(api, 'runs get run_1')).out).toBe('id\trun_1\nstate\tqueued\nlimits.cpus\t1\n');
    expect((await svc(api, 'runs get run_1', { terminal: true })).out).toBe(
      'id      run_1\nstate   queued\nlimits\n  cpus  1\n',
    );
  });

  it('warns on standard error that a secret is shown once', async () => {
    api.on('POST /api-keys', { status: 201, body: { id: 'key_2', name: 'ci', secret: 'svc_secret' } });
    const { out, err } = await svc(api, 'keys create ci --scope run:read --scope run:write');
    expect(out).toContain('secret\tsvc_secret\n');
    expect(err).toBe('warning: secret is shown only this once; store it safely now\n');
    expect(api.asked[0]?.body).toEqual({ name: 'ci', scopes: ['run:read', 'run:write'] });
  });
});

describe('--data', () => {
  const route = 'POST /teams/team_1/sandbox-runs';

  it('is the body, under the flags', async () => {
    api.on(route, { status: 201, body: { id: 'run_1' } });
    const data = { command: ['from', 'data'], limits: { cpus: 2, pids: 9 } };
    await svc(api, [
      'runs',
      'create',
      '--team',
      'team_1',
      '--limits-cpus',
      '1',
      '--data',
      JSON.stringify(data),
    ]);
    expect(api.asked[0]?.body).toEqual({ command: ['from', 'data'], limits: { cpus: 1, pids: 9 } });
  });

  it('comes from a file or from standard input', async () => {
    api.on(route, { status: 201, body: { id: 'run_1' } });
    await writeFile(join(folder, 'run.json'), '{"command":["file"]}');
    await svc(api, `runs create --team team_1 --data @${folder}/run.json`);
    await svc(api, 'runs create --team team_1 --data -', { input: '{"command":["stdin"]}' });
    expect(api.asked.map(({ body }) => body)).toEqual([{ command: ['file'] }, { command: ['stdin'] }]);
  });

  it.each([
    ['nonsense', '--data is not JSON'],
    ['[1]', '--data must be a JSON object'],
    ['@/no/such/file', 'cannot read the file of --data'],
    ['{}', 'needs -- <command>'],
  ])('refuses %s', async (data, message) => {
    await ends(api, ['runs', 'create', '--team', 't', '--data', data], { code: 2, says: message });
    expect(api.asked).toEqual([]);
  });

  it('belongs to commands that have a body', async () => {
    expect((await svc(api, 'runs get run_1 --data {}')).err).toContain('unknown flag --data');
  });
});

describe('a paged list', () => {
  const pages = [
    { body: { projects: [{ id: 'prj_1' }, { id: 'prj_2' }], nextCursor: 'c1' } },
    { body: { projects: [{ id: 'prj_3' }, { id: 'prj_4' }], nextCursor: 'c2' } },
    { body: { projects: [{ id: 'prj_5' }] } },
  ];
  const targets = () => api.asked.map(({ target }) => target);

  it('follows all pages with --all', async () => {
    api.on('GET /projects', ...pages);
    const { out } = await svc(api, 'projects list --all --json=id');
    expect((JSON.parse(out) as { id: string }[]).map(({ id }) => id)).toEqual([
      'prj_1',
      'prj_2',
      'prj_3',
      'prj_4',
      'prj_5',
    ]);
    expect(targets()).toEqual([
      '/projects?limit=200',
      '/projects?limit=200&cursor=c1',
      '/projects?limit=200&cursor=c2',
    ]);
  });

  it('ends at --limit, and says where to go on', async () => {
    api.on('GET /projects', ...pages);
    const { out, err } = await svc(api, 'projects list --limit 4 -o jsonl', { terminal: true });
    expect(out.trim().split('\n')).toHaveLength(4);
    expect(err).toBe(
      '4 shown, and there are more: --limit 40, or --all; go on behind them with --cursor c2\n',
    );
    expect(targets()).toEqual(['/projects?limit=4', '/projects?limit=2&cursor=c1']);
  });

  it('stops at 30, and says so in a script, too', async () => {
    const projects = Array.from({ length: 30 }, (_unused, index) => ({ id: `prj_${index}` }));
    api.on('GET /projects', { body: { projects, nextCursor: 'c1' } });
    const { out, err } = await svc(api, 'projects list --json');
    expect(JSON.parse(out)).toHaveLength(30);
    expect(err).toContain('30 shown, and there are more: --limit 300, or --all');
    expect(targets()).toEqual(['/projects?limit=30']);
    expect(await svc(api, 'projects list --all --limit 3')).toMatchObject({ code: 2 });
  });

  it('starts at --cursor', async () => {
    api.on('GET /projects', { body: { projects: [] } });
    await svc(api, 'projects list --cursor c9');
    expect(targets()).toEqual(['/projects?cursor=c9&limit=30']);
  });

  it('never follows a page that names itself', async () => {
    api.on('GET /projects', { body: { projects: [{ id: 'prj_1' }], nextCursor: 'c1' } });
    expect(await svc(api, 'projects list')).toMatchObject({
      code: 1,
      err: expect.stringContaining('itself as the next page') as string,
    });
  });

  it('refuses a limit of nothing', async () => {
    expect(await svc(api, 'projects list --limit 0')).toMatchObject({ code: 2 });
  });
});

describe('failures', () => {
  it.each([
    [401, 'credentials_invalid', 4],
    [403, 'scope_missing', 1],
    [404, 'not_found', 5],
    [409, 'limit_reached', 1],
  ])('of %d %s end with their exit code', async (status, code, exit) => {
    api.on('GET /sandbox-runs/run_1', apiError(status, code, 'so it is'));
    const ended = await svc(api, 'runs get run_1');
    expect(ended.code).toBe(exit);
    expect(ended.out).toBe('');
    expect(ended.err).toContain(`svc: so it is (${code}, request req_1)`);
  });

  it('are the error object of the API with --json', async () => {
    const answer = apiError(404, 'not_found', 'no such run');
    api.on('GET /sandbox-runs/run_1', answer);
    const { err } = await svc(api, 'runs get run_1 --json');
    expect(JSON.parse(err)).toEqual(answer.body);
  });

  it('end with 7 when nobody answers, and name the address', async () => {
    const gone = await startFakeApi();
    await gone.close();
    const { err } = await ends(api, 'regions list', {
      code: 7,
      says: 'ECONNREFUSED',
      env: { SVC_BASE_URL: gone.url },
    });
    expect(err).toContain(`the address is ${gone.url};`);
  });

  it('end with 7 at --timeout, which is for the whole command', async () => {
    api.on('GET /regions', () => undefined);
    const startedAt = Date.now();
    const { code, err } = await svc(api, 'regions list --timeout 200ms');
    expect(code).toBe(7);
    expect(err).toMatch(/was not done within 200ms|got no answer within 200 ms/);
    expect(Date.now() - startedAt).toBeLessThan(2_000);
  });

  it('end with 130 and nothing more to say at Ctrl-C', async () => {
    const io = fakeIo({ env: { SVC_BASE_URL: api.url } });
    api.on('GET /regions', () => io.interrupt());
    expect(await run(['regions', 'list'], io)).toBe(130);
    expect(io.err()).toBe('');
  });

  it('are quiet when nobody reads any more', async () => {
    api.on('GET /regions', { body: regions });
    expect(await svc(api, 'regions list', { closedAfter: 0 })).toMatchObject({ code: 0, err: '' });
  });

  it('of the usage are JSON with --json', async () => {
    const { code, err } = await svc(api, 'runs list --json --taem t');
    expect(code).toBe(2);
    expect(JSON.parse(err)).toMatchObject({
      error: {
        code: 'usage',
        message: 'unknown flag --taem for "svc runs list"',
        hints: ['did you mean --team?', expect.anything()],
      },
    });
  });

  it('of the usage go to standard error, and help to standard output', async () => {
    const wrong = await svc(api, 'runs');
    expect(wrong).toMatchObject({ code: 2, out: '' });
    expect(wrong.err).toContain('cancel');
    const asked = await svc(api, 'runs --help');
    expect(asked).toMatchObject({ code: 0, err: '' });
    expect(asked.out).toContain('cancel');
    expect((await svc(api, 'help runs create')).out).toBe((await svc(api, 'runs create --bogus --help')).out);
  });
});

describe('svc --help', () => {
  it('lists every group once, below the title of its area', async () => {
    const { out } = await svc(api, '--help');
    const sections = new Map(
      out.split('\n\n').map((text): [string, string[]] => {
        const [title = '', ...rows] = text.split('\n');
        return [
          title,
          rows.filter((row) => /^ {2}\S/.test(row)).map((row) => row.trim().split(' ')[0] ?? ''),
        ];
      }),
    );
    const titles = areas.map(({ title, summary }) => `${title} - ${summary}`);
    expect([...sections.keys()].filter((title) => titles.includes(title))).toEqual(titles);
    for (const [index, { area }] of areas.entries())
      expect(sections.get(titles[index] ?? '')).toEqual(
        Object.entries(commandTree().subCommands).flatMap(([name, group]) =>
          group.area === area ? [name] : [],
        ),
      );
    expect(sections.get(titles[0] ?? '')).toEqual(expect.arrayContaining(['auth', 'keys', 'teams']));
    expect(sections.get('This program')).toEqual(['api', 'completion', 'version']);
  });
});

describe('a destructive command', () => {
  const line = 'runners revoke rnr_1 --team team_1';

  it('asks on a terminal, and runs after a yes', async () => {
    api.on('DELETE /teams/team_1/runners/rnr_1', { status: 204 });
    const { code, io, err } = await svc(api, line, { terminal: true, answers: ['y'] });
    expect(code).toBe(0);
    expect(io.questions[0]).toContain('svc runners revoke rnr_1: Revokes a runner at once. Go on? [y/N]');
    expect(err).toContain('done');
  });

  it('does nothing after anything else', async () => {
    const { code, err } = await svc(api, line, { terminal: true, answers: [''] });
    expect(code).toBe(1);
    expect(err).toBe('svc: nothing was done\n');
    expect(api.asked.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });

  it.each([
    ['without a terminal', '', {}],
    ['with a terminal for the output alone', '', { stdoutTerminal: true }],
    ['with its input in a pipe', '', { terminal: true, stdinTerminal: false }],
    ['with --no-input', ' --no-input', { terminal: true }],
    ['with --yes', ' --yes', { terminal: true }],
  ])('asks nobody %s, and runs', async (_how, flags, io) => {
    api.on('DELETE /teams/team_1/runners/rnr_1', { status: 204 });
    const { code, io: asked } = await svc(api, `${line}${flags}`, io);
    expect([code, asked.questions]).toEqual([0, []]);
    expect(api.asked.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
  });
});

describe('--debug', () => {
  it('shows requests on standard error, without the credential', async () => {
    api.on('GET /regions', { body: regions });
    const { err, out } = await svc(api, 'regions list --debug');
    expect(err).toContain('debug: GET /regions');
    expect(err).toContain('[redacted]');
    expect(err + out).not.toContain('key_1');
  });
});
