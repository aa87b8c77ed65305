/** Tests the commands as users start them: the bundled program against a control plane of the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startProcess, type DaemonProcess } from '../../test/setup/runner/daemon-process.ts';
import { makeCertificates } from '../../test/setup/runner/certificates.ts';
import { startFakeProxy } from '../../test/setup/runner/fake-proxy.ts';
import { controlPlane, useBundle } from '../../test/setup/runner/stories.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type { EnrollRequest } from '../control-plane/wire.ts';

const bundle = useBundle();

const run = (args: string[], env: NodeJS.ProcessEnv = {}): DaemonProcess =>
  startProcess(bundle().main, args, env);

interface Home {
  dir: string;
  enroll: (url: string, token: string, ...more: string[]) => DaemonProcess;
}

function newHome(): Home {
  const dir = join(tempDir(), 'data');
  return {
    dir,
    enroll: (url, token, ...more) =>
      run(['enroll', '--url', url, '--name', 'box', '--data-dir', dir, ...more], { SVC_ENROLL_TOKEN: token }),
  };
}

describe('svc-runner enroll', () => {
  it('makes the key here, sends its public half alone, and keeps both files private', async () => {
    const cp = await controlPlane();
    const home = newHome();
    const enrolling = home.enroll(`${cp.url}/`, cp.token, '--label', 'zone=a', '--label', 'gpu=');
    expect(await enrolling.exited).toBe(0);
    expect(enrolling.output()).toContain(`enrolled box as ${cp.runnerId}`);
    const [call] = cp.of<EnrollRequest>('enroll');
    expect(call?.body).toMatchObject({
      name: 'box',
      labels: { zone: 'a', gpu: '' },
      facts: { version: '0.10.0', os: process.platform },
    });
    expect(call?.body.publicKey).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const pem = readFileSync(join(home.dir, 'key.pem'), 'utf8');
    const secret = pem.split('\n')[1] ?? 'x';
    expect(JSON.stringify(cp.calls)).not.toContain(secret);
    expect(enrolling.output()).not.toContain(secret);
    expect(enrolling.output()).not.toContain(cp.token);
    expect(statSync(home.dir).mode & 0o777).toBe(0o700);
    for (const name of ['key.pem', 'config.json'])
      expect(statSync(join(home.dir, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(home.dir, 'config.json'), 'utf8')).not.toContain(cp.token);
  });

  it('gets the same runner when the answer was lost, within one command and with a second one', async () => {
    const cp = await controlPlane();
    const home = newHome();
    cp.script('enroll', 'lose_answer');
    const enrolling = home.enroll(cp.url, cp.token);
    expect(await enrolling.exited).toBe(0);
    const keys = cp.of<EnrollRequest>('enroll').map((call) => call.body.publicKey);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('uses the key of an enrollment that was interrupted', async () => {
    const cp = await controlPlane();
    const home = newHome();
    cp.script('enroll', 'hang');
    const first = home.enroll(cp.url, cp.token);
    await waitFor('the call', () => cp.of('enroll').length === 1);
    await first.end('SIGKILL');
    expect(await home.enroll(cp.url, cp.token).exited).toBe(0);
    const keys = cp.of<EnrollRequest>('enroll').map((call) => call.body.publicKey);
    expect(new Set(keys).size).toBe(1);
  });

  it('takes the token from a file', async () => {
    const cp = await controlPlane();
    const file = join(tempDir(), 'token');
    writeFileSync(file, `${cp.token}\n`);
    const enrolling = run(['enroll', '--url', cp.url, '--token-file', file, '--data-dir', newHome().dir]);
    expect(await enrolling.exited).toBe(0);
  });

  it('asks for the token at a terminal, where it does not show, and repeats it nowhere', async () => {
    const cp = await controlPlane();
    const { dir } = newHome();
    const words = ['enroll', '--url', cp.url, '--token-file', '-', '--data-dir', dir];
    const line = [process.execPath, bundle().main, ...words].map((word) => `'${word}'`).join(' ');
    const terminal = spawn('script', ['-qec', line, '/dev/null']);
    let shown = '';
    terminal.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      if (shown.endsWith('Enrollment token: ')) terminal.stdin.write(`${cp.token}\r`);
    });
    const [code] = await once(terminal, 'close');
    expect([code, shown]).toEqual([0, expect.stringContaining(`as ${cp.runnerId}`)]);
    expect(shown).not.toContain(cp.token);
    for (const wrong of [[cp.token], [`--${cp.token}`], ['--token-file', `/nowhere/${cp.token}`]]) {
      const refused = run(['enroll', '--url', cp.url, ...wrong]);
      expect(await refused.exited).toBe(2);
      expect(refused.output()).not.toContain(cp.token);
    }
  });

  it('says why it was refused, at once', async () => {
    const cp = await controlPlane();
    const refused = newHome().enroll(cp.url, 'enr_wrong_token');
    expect(await refused.exited).toBe(1);
    expect(refused.output()).toContain('enrollment was refused: token_invalid');
    expect(refused.output()).not.toContain('enr_wrong');
    expect(cp.of('enroll')).toHaveLength(1);
  });

  it('does not overwrite an enrollment, unless it is to be replaced', async () => {
    const cp = await controlPlane();
    const home = newHome();
    expect(await home.enroll(cp.url, cp.token).exited).toBe(0);
    const again = home.enroll(cp.url, cp.token);
    expect(await again.exited).toBe(1);
    expect(again.output()).toContain(`is enrolled already, as ${cp.runnerId}`);
    const other = await controlPlane();
    expect(await home.enroll(other.url, other.token, '--replace').exited).toBe(0);
    expect(readdirSync(home.dir).filter((name) => name.endsWith('.old'))).toHaveLength(2);
  });

  it('refuses a data folder or a key that others may read', async () => {
    const cp = await controlPlane();
    const home = newHome();
    await home.enroll(cp.url, cp.token).exited;
    chmodSync(join(home.dir, 'key.pem'), 0o640);
    const loose = run(['run', '--data-dir', home.dir]);
    expect(await loose.exited).toBe(1);
    expect(loose.output()).toContain('has mode 640');
    chmodSync(join(home.dir, 'key.pem'), 0o600);
    chmodSync(home.dir, 0o755);
    const open = run(['run', '--data-dir', home.dir]);
    expect(await open.exited).toBe(1);
    expect(open.output()).toContain(`chmod 700 ${home.dir}`);
  });

  it('refuses a wrong command line with exit code 2', async () => {
    for (const args of [
      ['enroll'],
      ['enroll', '--url', 'ftp://x', '--token', 't'],
      ['enroll', '--url', 'https://user:pw@x', '--token', 't'],
      ['enroll', '--url', 'https://x', '--token', 't', '--name', 'a b'],
      ['rnu'],
      ['run', '--slot', '1'],
      [],
    ]) {
      expect(await run(args).exited, args.join(' ')).toBe(2);
    }
    const help = run(['enroll', '--help']);
    expect(await help.exited).toBe(0);
    expect(help.output()).toContain('--token-file <file>');
  });

  it('2.16 works through a private authority and a proxy, and remembers the authority', async () => {
    const certificates = makeCertificates();
    const cp = await controlPlane({ tls: certificates, host: 'localhost' });
    const proxy = await startFakeProxy('me:proxy-password');
    const home = newHome();
    const enrolling = run(
      ['enroll', '--url', cp.url, '--name', 'box', '--data-dir', home.dir, '--ca-file', certificates.caFile],
      { SVC_ENROLL_TOKEN: cp.token, HTTPS_PROXY: proxy.url },
    );
    expect(await enrolling.exited).toBe(0);
    expect(enrolling.output()).not.toContain('proxy-password');
    const doctor = run(['doctor', '--json', '--data-dir', home.dir], { HTTPS_PROXY: proxy.url });
    await doctor.exited;
    const { checks } = JSON.parse(doctor.output()) as { checks: { name: string; status: string }[] };
    expect(
      checks
        .filter((check) => check.name === 'reachable' || check.name === 'identity')
        .map((check) => check.status),
    ).toEqual(['ok', 'ok']);
    expect(new Set(proxy.seen)).toEqual(new Set([`CONNECT ${new URL(cp.url).host}`]));
  });
});

describe('svc-runner doctor', () => {
  const checksOf = async (process: DaemonProcess) => {
    const code = await process.exited;
    const { ok, checks } = JSON.parse(process.output()) as {
      ok: boolean;
      checks: { name: string; status: string; detail: string; advice?: string }[];
    };
    expect(code).toBe(ok ? 0 : 1);
    return new Map(checks.map((check) => [check.name, check]));
  };

  it('finds a healthy enrolled machine fine and does not take the runner over', async () => {
    const cp = await controlPlane();
    const home = newHome();
    await home.enroll(cp.url, cp.token).exited;
    const checks = await checksOf(run(['doctor', '--json', '--data-dir', home.dir]));
    for (const name of ['data folder', 'enrollment', 'disk', 'dns', 'reachable', 'clock', 'identity'])
      expect(checks.get(name)?.status, name).toBe('ok');
    expect(cp.boot).toBeUndefined();
  });

  it('says what to do about everything that is wrong', async () => {
    const cp = await controlPlane();
    const home = newHome();
    await home.enroll(cp.url, cp.token).exited;
    cp.clockMs = 3_600_000;
    cp.revoked = true;
    chmodSync(home.dir, 0o711);
    const checks = await checksOf(run(['doctor', '--json', '--data-dir', home.dir]));
    expect(checks.get('data folder')).toMatchObject({ status: 'fail', advice: `chmod 700 ${home.dir}` });
    expect(checks.get('clock')?.detail).toMatch(/^3\d\d\d s behind/);
    expect(checks.get('identity')).toMatchObject({
      status: 'fail',
      advice: expect.stringContaining('enroll anew') as string,
    });
    for (const check of checks.values())
      if (check.status === 'fail' || check.status === 'warn') expect(check.advice, check.name).toBeTruthy();
  });

  it('wants to know where to push', async () => {
    const asked = run(['doctor', '--push-test', '--data-dir', newHome().dir]);
    expect(await asked.exited).toBe(2);
    expect(asked.output()).toContain('--push-test needs --registry');
  });

  it('tells a private authority, and a machine that is not enrolled', async () => {
    const cp = await controlPlane({ tls: makeCertificates(), host: 'localhost' });
    const dir = newHome().dir;
    const tls = await checksOf(run(['doctor', '--json', '--data-dir', dir, '--url', cp.url]));
    expect(tls.get('reachable')?.advice).toContain('--ca-file');
    expect(tls.get('enrollment')?.advice).toContain('svc-runner enroll');
    expect(existsSync(dir)).toBe(false);
  });
});
