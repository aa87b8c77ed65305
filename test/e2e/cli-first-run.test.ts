/** A person signs in, runs something and looks at it, without an id and without a flag. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli, type BundledCli, type Ended } from '../../cli/testing/bundle.ts';
import { has } from '../setup/needs.ts';
import { PASSWORD } from '../setup/people.ts';
import { world, type World } from '../setup/world.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('a command line that was just signed in', () => {
  let cli: BundledCli;
  let w: World;

  beforeAll(async () => {
    [cli, w] = await Promise.all([bundleCli(), world()]);
    const words = ['login', '--base-url', w.server.baseUrl, '--email', w.owner.email, '--password-stdin'];
    expect(await cli.run(words, { input: `${PASSWORD}\n` })).toMatchObject({ code: 0 });
  });
  afterAll(async () => await cli?.remove());

  const done = async (...words: readonly string[]): Promise<Ended> => {
    const ended = await cli.run(words);
    expect([words, ended.code, ended.stderr]).toEqual([words, 0, ended.stderr]);
    return ended;
  };

  it('runs something in the one team there is', async () => {
    const { stdout } = await done('runs', 'create', '--', 'echo', 'hi');
    const [run] = await w.sdk.sandboxRuns.list(w.teamId);
    expect(run).toMatchObject({ teamId: w.teamId, command: ['echo', 'hi'] });
    expect(stdout).toContain(run?.id ?? 'no run');
    const [, id = ''] = /^id\t(\S+)$/m.exec(stdout) ?? [];
    expect((await done('runs', 'get', id.slice(0, 24))).stdout).toContain(id);
  });

  it('runs something as the first account, which owns the team of the service, too', async () => {
    const { staffEmail, staffPassword } = w.server.first;
    const profile = ['--profile', 'first'];
    const words = ['login', '--base-url', w.server.baseUrl, '--email', staffEmail, '--password-stdin'];
    expect(await cli.run([...words, ...profile], { input: staffPassword })).toMatchObject({ code: 0 });
    const { stdout } = await done('runs', 'create', ...profile, '--json', '--', 'echo', 'hi');
    expect(JSON.parse(stdout)).toMatchObject({ teamId: w.server.first.teamId, command: ['echo', 'hi'] });
  });

  it('runs the same again, unless it had what is not kept', async () => {
    const words = [
      '--image',
      'alpine:3.20',
      '--limits-memory-mb',
      '64',
      '--label',
      'a=b',
      '--max-attempts',
      '2',
    ];
    const made = await done('runs', 'create', ...words, '--json', '--', 'echo', 'again');
    const first = JSON.parse(made.stdout) as Record<string, unknown>;
    const again = JSON.parse(
      (await done('runs', 'retry', String(first['id']), '--json')).stdout,
    ) as typeof first;
    expect(again['id']).not.toBe(first['id']);
    const kept = ['teamId', 'command', 'image', 'limits', 'labels', 'maxAttempts', 'priority', 'network'];
    for (const field of kept) expect([field, again[field]]).toEqual([field, first[field]]);
    const secret = await done('runs', 'create', '--env', 'TOKEN=x', '--json', '--', 'true');
    const { id } = JSON.parse(secret.stdout) as { readonly id: string };
    const refused = await cli.run(['runs', 'retry', id]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('not kept: TOKEN')]);
  });

  it('takes names where ids are taken, and remembers what was chosen', async () => {
    const { id } = await w.sdk.environments.create(w.projectId, { name: 'first' });
    expect((await done('environments', 'get', 'web/first')).stdout).toContain(id);
    expect((await done('environments', 'get', 'first')).stdout).toContain(id);
    expect((await done('use', 'web/first')).stderr).toContain('in use: ');
    expect((await done('environments', 'get')).stdout).toContain(id);
    const status = JSON.parse((await done('status', '--json')).stdout) as Record<string, unknown>;
    expect(status).toMatchObject({
      team: { id: w.teamId, from: 'profile "default"' },
      project: { id: w.projectId, name: 'web' },
      environment: { id, name: 'first' },
    });
  });

  it('finds the pages of the console, and the names that a shell completes', async () => {
    const line = async (...words: readonly string[]) => (await done(...words)).stdout.trim();
    const run = await line('runs', 'create', '--jq', '.id', '--', 'echo', 'hi');
    const { id } = await w.sdk.environments.create(w.projectId, {
      name: 'opened',
      repository: 'https://git.example.com/acme/web.git',
    });
    const build = await w.sdk.builds.create(id, { commit: 'a'.repeat(40) });
    const base = `${w.server.baseUrl}/console`;
    expect(await line('open', run)).toBe(`${base}/teams/${w.teamId}/sandbox-runs/${run}`);
    expect(await line('open', run.slice(0, 24), '--jq', '.url')).toContain(run);
    expect(await line('open', build.id)).toBe(`${base}/environments/${id}/builds/${build.id}`);
    expect(await line('open', 'opened')).toBe(`${base}/environments/${id}`);
    expect(await line('open', 'web')).toBe(`${base}/projects/${w.projectId}`);
    expect(await line('completion', 'names', 'environments', 'web/o')).toContain('web/opened');
    const count = await line(
      'runs',
      'list',
      '--all',
      '--jq',
      'map(select(.command == ["echo", "hi"])) | length',
    );
    expect(Number(count)).toBeGreaterThan(0);
  });
});
