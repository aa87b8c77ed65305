/** `svc` as it is shipped, against a real server: staff move switches, and commands behind a gate notice. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli, type BundledCli, type Ended } from '../../cli/testing/bundle.ts';
import { has } from '../setup/needs.ts';
import { startTestServer, type TestServer } from '../setup/server.ts';

const postgresHere = await has('postgres');
const REASON = 'pilot is over, see OPS-7';

describe.skipIf(!postgresHere)('platform features on the command line', () => {
  let cli: BundledCli;
  let server: TestServer;
  let caches: string;

  beforeAll(async () => {
    [cli, server] = await Promise.all([bundleCli(), startTestServer()]);
    caches = await mkdtemp(join(tmpdir(), 'svc-caches-'));
  });
  afterEach(async () => {
    for (const key of ['host.spaces', 'host.runners'])
      await staff('features', 'set', key, 'enabled', '--reason', REASON);
  });
  afterAll(async () => {
    await server?.stop();
    await cli?.remove();
    await rm(caches, { recursive: true, force: true });
  });

  /** `person` has a cache of their own. */
  const svc = async (person: string, credential: string, words: readonly string[]): Promise<Ended> =>
    await cli.run(words, {
      env: {
        SVC_BASE_URL: server.baseUrl,
        ...(credential === '' ? {} : { SVC_API_KEY: credential }),
        XDG_CACHE_HOME: join(caches, person),
      },
    });
  const staff = async (...words: string[]): Promise<Ended> =>
    await svc('staff', server.first.staffApiKey, words);

  /**
   * A gated command whose check was made: on a busy machine the resolver's answer may come too late, and the
   * command rightly proceeds.
   */
  const checked = async (person: string, credential: string, words: readonly string[]): Promise<Ended> => {
    for (let tries = 1; ; tries += 1) {
      const ended = await svc(person, credential, [...words, '--verbose']);
      if (tries === 10 || !ended.stderr.includes('could not be checked')) return ended;
    }
  };

  it('nobody in particular sees what is enabled and public', async () => {
    const { code, stdout } = await svc('nobody', '', ['features', 'resolved', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ 'host.ci': true, 'host.spaces': true });
    expect(stdout).not.toContain('host.runners');
  });

  it('staff move a switch with a reason, see what follows from it, and it is on record as the command line', async () => {
    const dry = await staff('features', 'set', 'host.spaces', 'disabled', '--dry-run');
    expect([dry.code, dry.stdout]).toEqual([
      0,
      'key\tbefore\tafter\tblockedBy\nhost.spaces\tenabled\tdisabled\t\n',
    ]);
    const before = await staff('features', 'get', 'host.spaces', '--json=state,revision');
    expect(JSON.parse(before.stdout)).toMatchObject({ state: 'enabled' });
    const { revision } = JSON.parse(before.stdout) as { revision: number };

    const set = await staff('features', 'set', 'host.spaces', 'disabled', '--reason', REASON);
    expect([set.code, set.stdout]).toEqual([0, dry.stdout]);
    const history = await staff('features', 'history', 'host.spaces', '--limit', '1', '--json');
    expect(JSON.parse(history.stdout)).toMatchObject([
      { from: 'enabled', to: 'disabled', reason: REASON, source: 'cli', revisionTo: revision + 1 },
    ]);
    const list = await staff('features', 'list');
    expect(list.stdout).toMatch(/^host\.spaces\tdisabled\tfalse\tdisabled\t/m);

    const line = ['features', 'set', 'host.spaces', 'enabled', '--reason', REASON];
    const late = await staff(...line, '--revision', String(revision));
    expect(late.code).toBe(1);
    expect(late.stderr).toContain(`disabled at revision ${revision + 1}`);
    expect(late.stderr).toContain(`repeat it with --revision ${revision + 1}`);
  });

  it('the server wants a reason, and refuses what cannot be moved', async () => {
    const bare = await staff('features', 'set', 'host.spaces', 'disabled');
    expect(bare.code).toBe(1);
    expect(bare.stderr).toContain('(reason_required, request req_');
    expect(bare.stderr).toContain('--reason "..."');
    const locked = await staff('features', 'set', 'host.job_runner', 'enabled', '--reason', REASON);
    expect([locked.code, locked.stderr]).toEqual([1, expect.stringContaining('feature_not_toggleable')]);
    expect((await staff('features', 'get', 'host.nothing')).code).toBe(5);
    const member = await svc('ada', server.first.apiKey, ['features', 'list']);
    expect([member.code, member.stdout]).toEqual([1, '']);
  });

  it('a command of a public feature that is off is refused without asking for it, for everybody', async () => {
    await staff('features', 'set', 'host.spaces', 'disabled', '--reason', REASON);
    for (const [person, key] of [
      ['member', server.first.apiKey],
      ['staff', server.first.staffApiKey],
    ] as const) {
      const { code, stdout, stderr } = await checked(person, key, ['spaces', 'list']);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(
        'svc: "spaces list" is unavailable because the platform feature "host.spaces" is disabled on this environment',
      );
      expect(stderr).not.toContain('request req_');
    }
    await staff('features', 'set', 'host.spaces', 'enabled', '--reason', REASON);
    // Staff moved the switch, so their own command line has forgotten what it knew; nobody else waits longer
    // than a minute.
    expect((await staff('spaces', 'list')).code).toBe(0);
    expect((await svc('newcomer', server.first.apiKey, ['spaces', 'list'])).code).toBe(0);
  });

  it('a command of an internal feature that is off is refused early to staff, and by the server to others', async () => {
    await staff('features', 'set', 'host.runners', 'disabled', '--reason', REASON);
    const words = ['runners', 'list', '--team', server.first.teamId];
    const early = await checked('staff', server.first.staffApiKey, words);
    expect([early.code, early.stderr]).toEqual([
      1,
      [
        'svc: "runners list" is unavailable because the platform feature "host.runners" is disabled on this environment',
        '  reason: disabled; see "svc features get host.runners"',
        '',
      ].join('\n'),
    ]);
    const member = await svc('member-2', server.first.apiKey, words);
    expect(member.code).toBe(5);
    expect(member.stderr).toContain('(not_found, request req_');
    expect(member.stderr).not.toContain('host.runners');
  });
});
