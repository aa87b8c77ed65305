/** The program as it is shipped, as its own process: start-up, pipes, terminals, signals. */
import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { groups } from './gen/index.ts';
import { apiError, logEvent, logStream, useFakeApi } from './testing/fake-api.ts';
import { useBundledCli } from './testing/bundle.ts';
import { CLI_VERSION } from './version.ts';

const [api, cli] = await Promise.all([useFakeApi(), useBundledCli()]);

const env = () => ({ SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1' });
const regions = { regions: [{ id: 'region_1', name: 'Home', operator: 'customer' }] };

describe('the version', () => {
  it('is that of package.json', async () => {
    const manifest = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(CLI_VERSION).toBe(manifest.version);
    for (const words of [['--version'], ['-V'], ['version'], ['runs', '--version']])
      expect(await cli.run(words), words.join(' ')).toEqual({
        code: 0,
        stdout: `svc ${CLI_VERSION}\n`,
        stderr: '',
      });
  });

  it('loads next to nothing, and no table of commands', async () => {
    const loaded = await staticImports(cli.main);
    expect(loaded.length).toBeLessThanOrEqual(3);
    const text = loaded.map(({ text: part }) => part).join('');
    expect(text.length).toBeLessThan(2_000);
    expect(text).not.toContain('{group:');
  });

  it('is there within 1.5 times the start of an empty program', () => {
    // The fastest of several each: what else this machine does only ever makes a start slower.
    const fastest = { empty: Number.POSITIVE_INFINITY, version: Number.POSITIVE_INFINITY };
    const time = (words: readonly string[]): number => {
      const startedAt = performance.now();
      spawnSync(process.execPath, words);
      return performance.now() - startedAt;
    };
    for (let round = 0; round < 30 && (round < 4 || fastest.version > 1.5 * fastest.empty); round += 1) {
      fastest.empty = Math.min(fastest.empty, time(['-e', '0']));
      fastest.version = Math.min(fastest.version, time([cli.main, '--version']));
    }
    expect(fastest.version / fastest.empty).toBeLessThanOrEqual(1.5);
  });
});

/** The file with everything that it imports before it runs. */
async function staticImports(path: string): Promise<{ readonly path: string; readonly text: string }[]> {
  const text = await readFile(path, 'utf8');
  const names = [...text.matchAll(/(?:from|import)\s*"(\.\/[^"]+)"/g)].map((match) => match[1] ?? '');
  const inner = await Promise.all(names.map((name) => staticImports(join(path, '..', name))));
  return [{ path, text }, ...inner.flat()];
}

it('holds every generated table in a file of its own', async () => {
  const folder = join(cli.folder, 'dist');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const homes = await Promise.all(
    groups.map(async ({ load }) => {
      const paths = (await load()).map(({ operation }) => `,path:"${operation.path}"`);
      return files.filter((_name, index) => paths.every((path) => texts[index]?.includes(path)));
    }),
  );
  expect(homes.every((home) => home.length >= 1)).toBe(true);
  // A hand-written command may name a path too; the table is the file that holds every one of its group.
  const commands = groups.map((group) => group.commands.length);
  const operations = files.map((_name, index) => (texts[index]?.split('operation:{method:').length ?? 1) - 1);
  const tables = homes.flatMap((home, at) =>
    home.filter((name) => operations[files.indexOf(name)] === commands[at]),
  );
  expect(new Set(tables).size).toBe(groups.length);
});

describe('what citty alone would let through', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['runs list --team t --unknown x', 'unknown flag --unknown'],
    ['runs list --team t extra', 'unexpected argument "extra"'],
    ['runs list --team', '--team needs a value'],
    ['runs list --team a --team b', '--team is given twice'],
    ['runs list --team t --limit ten', '--limit must be a whole number'],
    ['runs lst', 'did you mean "svc runs list"?'],
    ['rnus list', 'did you mean "svc runs"?'],
  ];
  it.each(refused)('is refused: svc %s', async (line, message) => {
    const { code, stdout, stderr } = await cli.run(line.split(' '), { env: env() });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('    at ');
    expect(api.asked).toEqual([]);
  });

  it('is taken as meant: lists, and global flags on both sides', async () => {
    api.on('GET /teams/team_1/sandbox-runs', { body: { sandboxRuns: [] } });
    const words = '--json runs list --state queued --team team_1 --state running --base-url'.split(' ');
    const { code, stdout } = await cli.run([...words, api.url]);
    expect([code, stdout]).toEqual([0, '[]\n']);
    expect(api.asked[0]?.target).toContain('state=queued&state=running');
  });

  it('is shown right: the whole command in help, no colours in a pipe', async () => {
    const { stdout } = await cli.run(['runs', 'create', '--help']);
    expect(stdout).toMatch(/^svc runs create: /);
    expect(stdout).toContain('svc runs create --team team_01 -- echo hello');
    expect(stdout).not.toContain('\u001b');
  });
});

describe('in a pipe', () => {
  it('prints TSV', async () => {
    api.on('GET /regions', { body: regions });
    const { code, stdout, stderr } = await cli.run(['regions', 'list'], { env: env() });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')[0]?.split('\t')).toContain('id');
    expect(stdout).toContain('region_1\t');
  });

  it('prints what a jq expression makes of it, and cuts off one without an end', async () => {
    api.on('GET /regions', { body: regions });
    const line = ['regions', 'list', '--jq'];
    expect(await cli.run([...line, '.[] | .name, {id}'], { env: env() })).toEqual({
      code: 0,
      stdout: 'Home\n{"id":"region_1"}\n',
      stderr: '',
    });
    const endless = await cli.run([...line, 'range(1e12)'], { env: env() });
    expect([endless.code, endless.stdout]).toEqual([1, '']);
    expect(endless.stderr).toMatch(/"--jq: the expression took more (than 5s|than 512 MiB of memory)"/);
  });

  it('ends quietly when its reader has enough', async () => {
    const page = {
      projects: Array.from({ length: 200 }, (_unused, index) => ({
        id: `prj_${index}`,
        name: 'x'.repeat(200),
      })),
    };
    let next = 0;
    api.on('GET /projects', (response) => {
      next += 1;
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ ...page, nextCursor: `c${next}` }));
    });
    const { stdout, stderr } = await cli.shell(
      'svc projects list --all -o jsonl | head -1; echo "${PIPESTATUS[0]}"',
      { env: env() },
    );
    expect(stdout).toMatch(/^\{"id":"prj_0".*\}\n0\n$/);
    expect(stderr).toBe('');
  });

  it('says so when the result cannot be written', async () => {
    api.on('GET /regions', { body: regions });
    const { code, stderr } = await cli.shell('svc regions list > /dev/full', { env: env() });
    expect(code).toBe(1);
    expect(stderr).toContain('ENOSPC');
  });

  it('has colours when they are forced', async () => {
    api.on('GET /regions', { body: regions });
    const { stdout } = await cli.run(['regions', 'list', '-o', 'table'], {
      env: { ...env(), FORCE_COLOR: '1' },
    });
    expect(stdout).toContain('\u001b[1m');
  });
});

describe('on a terminal', () => {
  it('prints a table with colours, and without them under NO_COLOR', async () => {
    api.on('GET /regions', { body: regions });
    expect((await cli.terminal(['regions', 'list'], { env: env() })).stdout).toContain('\u001b[1mID ');
    const plain = await cli.terminal(['regions', 'list'], { env: { ...env(), NO_COLOR: '1' } });
    expect(plain.stdout).toContain('NAME');
    expect(plain.stdout).not.toContain('\u001b');
  });

  const revoke = ['runners', 'revoke', 'rnr_1', '--team', 'team_1'];

  it('asks before it destroys', async () => {
    api.on('DELETE /teams/team_1/runners/rnr_1', { status: 204 });
    const no = await cli.terminal(revoke, { env: env(), typed: [{ after: '[y/N]', keys: 'n\r' }] });
    expect(no.code).toBe(1);
    expect(api.asked.some(({ method }) => method === 'DELETE')).toBe(false);
    // The second key takes the first one back.
    const yes = await cli.terminal(revoke, { env: env(), typed: [{ after: '[y/N]', keys: 'n\u007fy\r' }] });
    expect(yes.code).toBe(0);
    expect(api.asked.some(({ method }) => method === 'DELETE')).toBe(true);
  });

  it('takes Ctrl-C for an answer', async () => {
    const { code } = await cli.terminal(revoke, { env: env(), typed: [{ after: '[y/N]', keys: '\u0003' }] });
    expect(code).toBe(130);
    expect(api.asked.some(({ method }) => method === 'DELETE')).toBe(false);
  });

  it('never shows the password, and remembers the session for its owner', async () => {
    api.on('POST /auth/login', {
      body: { token: 'ses_1', expiresAt: '2026-11-27T12:00:00Z', userId: 'user_1' },
    });
    const { code, stdout } = await cli.terminal(['auth', 'login'], {
      env: { SVC_BASE_URL: api.url },
      typed: [
        { after: 'E-mail address: ', keys: 'me@example.com\r' },
        { after: 'Password: ', keys: 'hunter2hunter2\r' },
      ],
    });
    expect(code).toBe(0);
    expect(stdout).toContain('me@example.com');
    expect(stdout).not.toContain('hunter2');
    expect(api.asked[0]?.body).toEqual({ email: 'me@example.com', password: 'hunter2hunter2' });
    expect((await cli.run(['auth', 'token'])).stdout).toBe('ses_1\n');
  });
});

describe('streams and signals', () => {
  it('follows the output of a run until Ctrl-C', async () => {
    api.on('GET /sandbox-runs/run_1/logs', logStream([logEvent(4, 'stdout', 'one\n')], 'open'));
    const ended = await cli.run(['runs', 'logs', 'run_1'], { env: env(), interruptAt: 'one' });
    expect(ended).toEqual({ code: 130, stdout: 'one\n', stderr: '' });
  });

  it('ends at Ctrl-C also while it waits for its input', async () => {
    const { code, stderr } = await cli.run(
      ['auth', 'login', '--api-key-stdin', '--base-url', 'http://svc.invalid'],
      {
        typed: [],
        interruptAt: 'not encrypted',
      },
    );
    expect(code).toBe(130);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('writes standard output and standard error of the run to its own', async () => {
    api.on(
      'GET /sandbox-runs/run_1/logs',
      logStream([logEvent(4, 'stdout', 'out\n'), logEvent(8, 'stderr', 'err\n')]),
    );
    api.on('GET /sandbox-runs/run_1', { body: { id: 'run_1', state: 'succeeded' } });
    expect(await cli.run(['runs', 'logs', 'run_1'], { env: env() })).toEqual({
      code: 0,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('exits with what the API says', async () => {
    api.on('GET /sandbox-runs/run_1', apiError(404, 'not_found', 'no such run'));
    const { code, stdout, stderr } = await cli.run(['runs', 'get', 'run_1', '--json'], { env: env() });
    expect([code, stdout]).toEqual([5, '']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'not_found' } });
  });
});
