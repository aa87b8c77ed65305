import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { service } from './service.ts';
import { UsageError } from './flags.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';

const systemdHere = await has('systemd');

async function run(...args: string[]): Promise<{ code: number; text: string }> {
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const code = await service({ args, env: {}, print: say, note: say, onStopSignal: () => undefined });
  return { code, text: said.join('') };
}

const EXEC = ['--exec', '/usr/local/bin/svc-runner'];
const settingsOf = (unit: string) =>
  unit.split('\n').filter((line) => /^[A-Z]/.test(line) && line.includes('='));

describe('svc-runner service', () => {
  it('prints the unit that lies in packaging/', async () => {
    const packaged = new URL('../packaging/svc-runner.service', import.meta.url);
    expect((await run('print', ...EXEC)).text).toBe(readFileSync(packaged, 'utf8'));
  });

  it('waits for the drain, is watched, and is not started again after a definite end', async () => {
    const lines = settingsOf((await run('print', ...EXEC, '--drain-timeout', '3h', '--slots', '4')).text);
    expect(lines).toEqual(
      expect.arrayContaining([
        'Type=notify',
        'NotifyAccess=all',
        'WatchdogSec=180s',
        'ExecStart=/usr/local/bin/svc-runner run --data-dir /var/lib/svc-runner --drain-timeout 3h --slots 4',
        'TimeoutStopSec=10860s',
        'KillMode=mixed',
        'Restart=on-failure',
        'RestartPreventExitStatus=2 5 6 7',
        'Delegate=yes',
        'OOMPolicy=continue',
      ]),
    );
  });

  it('has nothing in it that podman cannot live with', async () => {
    const { text } = await run('print', ...EXEC);
    const names = settingsOf(text).map((line) => line.split('=')[0] ?? '');
    for (const name of names)
      expect(name).not.toMatch(
        /^(NoNewPrivileges|RestrictSUIDSGID|SystemCall|Protect|Private|Device|Restrict(Name|Addr))/,
      );
  });

  it('quotes what systemd would take for its own', async () => {
    const { text } = await run('print', '--exec', '/opt/a b/100%/$x/svc-runner');
    expect(text).toContain('ExecStart="/opt/a b/100%%/$$x/svc-runner" run');
  });

  it('starts a script by the node that runs this, which systemd does not find by itself', async () => {
    const folder = tempDir();
    const script = join(folder, 'svc-runner');
    writeFileSync(script, '#!/usr/bin/env node\n');
    const [link, program] = [join(folder, 'link'), join(folder, 'program')];
    symlinkSync(script, link);
    writeFileSync(program, '\x7fELF');
    const startOf = async (...args: string[]) =>
      settingsOf((await run('print', ...args)).text).find((line) => line.startsWith('ExecStart='));
    for (const path of [script, link])
      expect(await startOf('--exec', path)).toContain(`ExecStart=${process.execPath} ${path} run`);
    expect(await startOf('--exec', program)).toContain(`ExecStart=${program} run`);
    expect(await startOf()).toMatch(new RegExp(`^ExecStart=${process.execPath} /\\S+ run`));
  });

  it.skipIf(!systemdHere)('is found good by systemd itself', async () => {
    const path = join(tempDir(), 'svc-runner.service');
    const user = execFileSync('id', ['-un']).toString().trim();
    for (const more of [[], ['--user', user]]) {
      writeFileSync(path, (await run('print', '--exec', process.execPath, ...more)).text);
      // It prints what it does not know or accept, and fails then.
      const said = execFileSync('systemd-analyze', ['verify', path], { stdio: ['ignore', 'pipe', 'pipe'] });
      expect(said.toString()).toBe('');
    }
  });

  it('installs once, and says what to do next', async () => {
    const folder = join(tempDir(), 'units');
    const done = await run('install', ...EXEC, '--unit-dir', folder);
    expect(done.text).toContain('systemctl enable --now svc-runner.service');
    expect(statSync(join(folder, 'svc-runner.service')).mode & 0o777).toBe(0o644);
    await expect(run('install', ...EXEC, '--unit-dir', folder)).rejects.toThrow('--force');
    expect((await run('install', ...EXEC, '--unit-dir', folder, '--force')).code).toBe(0);
  });

  it('refuses what cannot work', async () => {
    for (const args of [
      ['start'],
      ['print', '--exec', 'svc-runner'],
      ['print', ...EXEC, '--watchdog', '30s'],
      ['print', ...EXEC, '--user', 'no-such-user-here'],
      ['print', ...EXEC, '--data-dir', 'x\ny'],
    ])
      await expect(run(...args), args.join(' ')).rejects.toThrow(UsageError);
  });
});
