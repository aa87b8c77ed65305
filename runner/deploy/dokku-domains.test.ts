import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/setup/clock.ts';
import { testContext } from '../../test/setup/runner/build-context.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { runCommand } from '../executor/command.ts';
import { changesOfDomains, createDokkuDomains, PLUGIN_MISSING } from './dokku-domains.ts';

const noted = (...names: string[]) => [
  'config:set',
  '--no-restart',
  'web',
  `SVC_DEPLOYED_DOMAINS=${names.join(' ')}`,
];

describe('names of an app of Dokku', () => {
  it('are set beside those of a person, and noted before that', () => {
    const given = ['web.dokku.me'];
    expect(changesOfDomains('web', { wanted: [], there: given, ours: [] })).toEqual([]);
    expect(changesOfDomains('web', { wanted: ['a.dev'], there: given, ours: [] })).toEqual([
      noted('a.dev'),
      ['domains:set', 'web', 'web.dokku.me', 'a.dev'],
    ]);
    const there = ['web.dokku.me', 'a.dev'];
    expect(changesOfDomains('web', { wanted: ['a.dev'], there, ours: ['a.dev'] })).toEqual([]);
    expect(changesOfDomains('web', { wanted: ['b.dev'], there, ours: ['a.dev'] })).toEqual([
      noted('a.dev', 'b.dev'),
      ['domains:set', 'web', 'web.dokku.me', 'b.dev'],
      noted('b.dev'),
    ]);
    expect(changesOfDomains('web', { wanted: [], there: ['a.dev'], ours: ['a.dev'] })).toEqual([
      ['domains:clear', 'web'],
      ['config:unset', '--no-restart', 'web', 'SVC_DEPLOYED_DOMAINS'],
    ]);
  });

  /** A Dokku that keeps what it is told in files. */
  async function rig({ plugin = 'exit 0', issue = 'exit 0' } = {}) {
    const context = await testContext();
    const kept = tempDir();
    context.fake(
      'dokku',
      `cd ${kept}
      case "$1" in
        domains:report) cat domains 2>/dev/null || echo web.dokku.me;;
        domains:set) shift 2; echo "$@" >domains;;
        config:get) cat "$3" 2>/dev/null || exit 1;;
        config:set) echo "\${4#*=}" >"\${4%%=*}";;
        config:unset) rm -f "$4";;
        plugin:installed) ${plugin};;
        certs:report) cat certificate 2>/dev/null || printf '       Ssl enabled:                   false\\n       Ssl hostnames:\\n';;
        letsencrypt:enable) printf '       Ssl enabled:  true\\n       Ssl expires at:   Dec  1 10:11:12 2026 GMT\\n       Ssl hostnames:   %s\\n       Ssl issuer:   C = US, O = Test\\n' "$(cat domains)" >certificate; ${issue};;
        letsencrypt:disable) rm -f certificate;;
      esac`,
    );
    const clock = createFakeClock();
    const dataDir = tempDir();
    mkdirSync(join(dataDir, 'host'));
    const program = `${String(context.env['PATH']).split(':')[0]}/dokku`;
    const domains = createDokkuDomains({
      dokku: async (args) => await runCommand([program, ...args], { timeoutMs: 10_000, env: context.env }),
      dataDir,
      clock,
      log: collectedLog(),
    });
    return {
      context,
      clock,
      kept,
      calls: (name: string) => context.calls('dokku').filter(([first]) => first === name),
      serve: async (names: ReadonlyArray<{ name: string; ssl?: boolean }>) => {
        const seen = await domains.serve({
          environmentId: 'env_1',
          app: 'web',
          isRunning: true,
          domains: [...names],
        });
        await domains.settled();
        return seen;
      },
    };
  }

  it('get a certificate of the plugin, are told with it, and give both up', async () => {
    const r = await rig();
    expect(await r.serve([{ name: 'a.acme.dev' }, { name: '--all' }])).toEqual([
      { name: 'a.acme.dev', dnsState: 'unknown', certificateState: 'none' },
    ]);
    const names = [
      { name: 'a.acme.dev', ssl: true },
      { name: '*.acme.dev', ssl: true },
    ];
    expect(await r.serve(names)).toMatchObject([
      { certificateState: 'issuing' },
      { certificateState: 'unsupported' },
    ]);
    expect((await r.serve(names))[0]).toEqual({
      name: 'a.acme.dev',
      dnsState: 'unknown',
      certificateState: 'active',
      notAfter: '2026-12-01T10:11:12.000Z',
      issuer: 'C = US, O = Test',
    });
    expect(r.calls('letsencrypt:enable')).toHaveLength(1);
    expect(await r.serve([])).toEqual([]);
    await r.serve([]);
    expect(r.calls('letsencrypt:disable')).toHaveLength(1);
    expect(r.calls('domains:set').at(-1)).toEqual(['domains:set', 'web', 'web.dokku.me']);
  });

  it('wait longer after each failure of the authority', async () => {
    const r = await rig({ issue: 'rm certificate; echo "no challenge was found" >&2; exit 1' });
    const names = [{ name: 'a.acme.dev', ssl: true }];
    await r.serve(names);
    const [failed] = await r.serve(names);
    expect(failed).toMatchObject({
      certificateState: 'failed',
      certificateFailures: 1,
      problem: expect.stringContaining('no challenge was found') as string,
      nextAttemptAt: '2026-01-01T00:15:00.000Z',
    });
    expect(r.calls('letsencrypt:enable')).toHaveLength(1);
    r.clock.advance(15 * 60_000);
    await r.serve(names);
    expect(r.calls('letsencrypt:enable')).toHaveLength(2);
  });

  it('are served by plain HTTP where the plugin is not there, and say so', async () => {
    const r = await rig({ plugin: 'exit 1' });
    expect(await r.serve([{ name: 'a.acme.dev', ssl: true }])).toMatchObject([
      { certificateState: 'unsupported', problem: PLUGIN_MISSING },
    ]);
    r.context.fake('dokku', 'echo "no such app" >&2; exit 1');
    expect(await r.serve([{ name: 'a.acme.dev' }])).toMatchObject([
      { problem: expect.stringContaining('no such app') as string },
    ]);
  });
});
