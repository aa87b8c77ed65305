/**
 * This file tests the rules for the namespaces executor alone; those for every executor are in
 * executor.test.ts.
 */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { chmod, chown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import type { Executor, Outcome } from './executor.ts';
import {
  begun,
  ended,
  hostCommandLines,
  makeSpec,
  RUNNER_ID,
  runToEnd,
  shell,
} from '../../test/setup/runner/executor-fixtures.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { createNamespacesExecutor } from './namespaces.ts';
import { TIMED } from '../../test/setup/timed.ts';
import { sharedDir, tempDir } from '../../test/setup/runner/temp-dir.ts';
import { programsFirst } from '../../test/setup/runner/programs.ts';

const there = await has('namespaces');
const USER = 12_345;

describe.runIf(there)('namespaces executor', () => {
  let executor: Executor;
  const dataDir = sharedDir();
  const options = () => ({ dataDir: dataDir(), runnerId: RUNNER_ID, log: () => undefined });

  beforeAll(async () => {
    executor = await createNamespacesExecutor(options());
  });
  afterAll(async () => await executor.reap(() => false));

  /**
   * Bundles a program that runs one task in a process of its own, so that it can have another user or be
   * killed.
   */
  async function bundleRunner(): Promise<string> {
    const outfile = join(dataDir(), 'run.mjs');
    await build({
      entryPoints: [new URL('../../test/setup/runner/unprivileged-run.ts', import.meta.url).pathname],
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile,
      logLevel: 'silent',
    });
    await chmod(dataDir(), 0o755);
    return outfile;
  }

  it('says how memory, processes and users are held', () => {
    expect(executor).toMatchObject({ name: 'namespaces', isolation: 'namespaces' });
    expect(executor.describe()).toMatch(/memory limited by (cgroup v[12]|sampling)/);
    expect(executor.describe()).toMatch(
      process.arch === 'x64' ? /, seccomp filter$/ : /, no seccomp filter$/,
    );
  });

  it(
    'starts, runs and cleans up an empty task at a small multiple of what the bare namespaces cost',
    TIMED,
    async () => {
      const bare: number[] = [];
      const tasks: number[] = [];
      // The two are measured in turns, so that a machine that is slow or busy is so for both.
      for (let turn = 0; turn < 7; turn += 1) {
        const began = performance.now();
        execFileSync('unshare', ['--mount', '--uts', '--ipc', '--net', '--pid', '--fork', 'true']);
        bare.push(performance.now() - began);
        tasks.push((await runToEnd(executor, makeSpec(['true']))).durationMs);
      }
      const median = (times: number[]): number => times.toSorted((left, right) => left - right)[3] ?? NaN;
      // 5 to 8 times were measured, idle (15 ms bare) and with five busy loops on two cores.
      expect(
        median(tasks) / median(bare),
        `${tasks.map(Math.round)} ms, bare ${bare.map(Math.round)} ms`,
      ).toBeLessThan(15);
    },
  );

  it('refuses an image and says what to do', async () => {
    const run = await runToEnd(executor, makeSpec(['true'], { image: 'alpine:3' }));
    expect(run.reason).toBe('engine_error');
    expect(run.message).toMatch(/image alpine:3 cannot be used.*install podman/);
  });

  it('shows the task programs and nothing else of the host', async () => {
    const run = await runToEnd(
      executor,
      makeSpec(shell('ls /; ls /etc; ls -d /tmp/* /workspace/* 2>/dev/null; cat /proc/self/mounts')),
    );
    const names = run.stdout.split('\n');
    for (const secret of [
      'root',
      'home',
      'var',
      'run',
      'sys',
      'boot',
      'opt',
      'srv',
      'mnt',
      'shadow',
      'ssh',
      'hostname.bak',
    ])
      expect(names).not.toContain(secret);
    for (const name of ['usr', 'proc', 'dev', 'tmp', 'workspace', 'etc', 'passwd'])
      expect(names).toContain(name);
    expect(run.stdout).not.toContain(dataDir());
    expect(run.stdout).toMatch(/^proc \/proc proc rw,nosuid,nodev,noexec,relatime,hidepid=(2|invisible)/m);
    expect(run.stdout).toMatch(/^svc-root \/ tmpfs ro,/m);
  });

  it('cannot see or signal its init, and cannot leave its root', async () => {
    const run = await runToEnd(
      executor,
      makeSpec(
        shell(
          'ls -d /proc/1; kill -9 1; ls /proc/1/root /proc/self/root/home; cat /proc/sys/user/max_user_namespaces',
        ),
      ),
    );
    expect(run.stdout.trim()).toMatch(/^[01]$/);
    expect(run.exitCode).toBe(0);
  });

  it('opens nothing of the daemon to the task, not even what the daemon itself inherited', async () => {
    const program = await bundleRunner();
    const file = openSync(join(dataDir(), 'inherited'), 'w+');
    const stdio = [
      'ignore',
      'pipe',
      'inherit',
      ...Array.from({ length: 20 }, () => 'ignore' as const),
      file,
    ] as const;
    const text = execFileSync(
      process.execPath,
      [program, RUNNER_ID, join(dataDir(), 'fds'), 'ls -l /proc/self/fd'],
      {
        stdio: [...stdio],
        encoding: 'utf8',
      },
    );
    closeSync(file);
    const open = (JSON.parse(text) as { stdout: string }).stdout
      .split('\n')
      .filter((line) => line.includes(' -> '));
    expect(open.length).toBeGreaterThanOrEqual(4);
    for (const line of open)
      expect(line).toMatch(/ ([12] -> \/.*\/std(out|err)|\d+ -> \/dev\/null|\d+ -> \/proc\/\d+\/fd)$/);
  });

  it('holds the memory limit by sampling where no control group can be had', async () => {
    const sampling = await createNamespacesExecutor({ ...options(), useCgroups: false });
    expect(sampling.describe()).toContain('memory limited by sampling');
    const grower = shell('dd if=/dev/zero of=/dev/null bs=200M count=2000; echo survived');
    expect(await runToEnd(sampling, makeSpec(grower))).toMatchObject({
      reason: 'memory',
      stdout: '',
      signal: 'SIGKILL',
    });
    const files = shell(
      'dd if=/dev/zero of=/workspace/a bs=1M count=30; dd if=/dev/zero of=/tmp/b bs=1M count=15; dd if=/dev/zero of=/dev/null bs=30M count=2000',
    );
    expect(await runToEnd(sampling, makeSpec(files))).toMatchObject({ reason: 'memory' });
    expect(await runToEnd(sampling, makeSpec(shell('echo small')))).toMatchObject({
      reason: 'exit',
      stdout: 'small\n',
    });
  });

  it('leaves no folder and no control group behind', async () => {
    await runToEnd(executor, makeSpec(['true']));
    expect(await readdir(join(dataDir(), 'sandboxes'))).toEqual([]);
  });

  it('takes its tasks with it when the daemon is killed', async () => {
    const program = await bundleRunner();
    const marker = `sleep ${6000 + (process.pid % 1000)}.5`;
    const daemon = spawn(
      process.execPath,
      [program, RUNNER_ID, join(dataDir(), 'crash'), `setsid ${marker} & ${marker}`],
      { stdio: 'ignore' },
    );
    const alive = async () => (await hostCommandLines()).filter((line) => line === marker).length;
    await waitFor('two sleeping tasks', alive, { holds: (count) => count === 2 });
    daemon.kill('SIGKILL');
    await waitFor('their end', alive, { holds: (count) => count === 0 });
    const next = await createNamespacesExecutor({ ...options(), dataDir: join(dataDir(), 'crash') });
    expect(await next.reap(() => false)).toHaveLength(1);
    expect(await readdir(join(dataDir(), 'crash', 'sandboxes'))).toEqual([]);
  });

  it('keeps a record of another runner and a live run untouched', async () => {
    const live = await begun(executor, makeSpec(shell('echo up; sleep 30')));
    const other = await createNamespacesExecutor({ ...options(), runnerId: 'rnr_other' });
    expect(await other.reap(() => false)).toEqual([]);
    const same = await createNamespacesExecutor(options());
    expect(await same.reap(() => true)).toEqual([]);
    expect(await ended(live)).toMatchObject({ reason: 'cancelled' });
  });

  it('holds the same walls for a runner that is not root', async () => {
    const program = await bundleRunner();
    const userDir = join(dataDir(), 'user');
    await mkdir(userDir, { recursive: true });
    if (process.geteuid?.() === 0) await chown(userDir, USER, USER);
    const script =
      'id -u; grep -E "CapEff|CapBnd|NoNewPrivs|Seccomp:" /proc/self/status; unshare -U true || echo refused; cat /proc/1/environ 2>&1; touch /x /usr/x 2>&1; ls /home 2>&1; exit 4';
    const asUser =
      process.geteuid?.() === 0
        ? ['setpriv', '--reuid', String(USER), '--regid', String(USER), '--clear-groups']
        : [];
    const result = JSON.parse(
      execFileSync('env', [...asUser, process.execPath, program, RUNNER_ID, userDir, script], {
        encoding: 'utf8',
      }),
    ) as Outcome & { stdout: string; description: string };
    expect(result).toMatchObject({ reason: 'exit', exitCode: 4 });
    expect(result.description).toContain('task user mapped to the runner itself');
    expect(result.stdout).toMatch(/^65534\nCapBnd|^65534\nCapEff/);
    expect(result.stdout).toMatch(/CapEff:\s+0{16}/);
    expect(result.stdout).toMatch(/CapBnd:\s+0{16}/);
    expect(result.stdout).toMatch(/NoNewPrivs:\s+1/);
    if (process.arch === 'x64') expect(result.stdout).toMatch(/Seccomp:\s+2/);
    expect(result.stdout).toContain('refused');
    expect(result.stdout.match(/Read-only file system/g)).toHaveLength(2);
    expect(result.stdout).toMatch(/\/proc\/1\/environ: No such file/);
  });
});

describe.runIf(there)('createNamespacesExecutor()', () => {
  it('refuses tools that only share the name with util-linux', async () => {
    programsFirst({ setpriv: 'echo BusyBox v1.36' });
    await expect(
      createNamespacesExecutor({ dataDir: tempDir(), runnerId: RUNNER_ID, log: () => undefined }),
    ).rejects.toThrow('setpriv is not of util-linux, expected util-linux 2.36 or newer; install util-linux');
  });
});
