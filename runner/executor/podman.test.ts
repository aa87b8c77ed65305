/** This file tests the rules for podman alone; those for every executor are in executor.test.ts. */
import { lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { ensureBaseImage } from './base-image.ts';
import { runCommand } from './command.ts';
import type { Executor } from './executor.ts';
import {
  begun,
  ended,
  hostProcesses,
  makeSpec,
  RUNNER_ID,
  runToEnd,
  shell,
} from '../../test/setup/runner/executor-fixtures.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { createPodmanExecutor } from './podman.ts';
import { RANGE_IDS } from './user-range.ts';
import { sharedDir } from '../../test/setup/runner/temp-dir.ts';

const there = await has('podman');

describe.runIf(there)('podman executor', () => {
  let executor: Executor;
  const dataDir = sharedDir();
  const podman = (...args: string[]) => runCommand(['podman', ...args], { timeoutMs: 20_000 });

  beforeAll(async () => {
    executor = await createPodmanExecutor({
      dataDir: dataDir(),
      runnerId: RUNNER_ID,
      log: () => undefined,
    });
  });
  afterAll(async () => await executor.reap(() => false));

  it('says which runtime passed the probe', () => {
    expect(executor).toMatchObject({ name: 'podman', isolation: 'container' });
    expect(executor.describe()).toMatch(
      /^podman \d+\.\d+\.\d+, runtime (crun|runc|runsc|youki), (users of its own|users of the host|rootless), cgroup v[12], tightened seccomp$/,
    );
  });

  it('writes a filter that refuses what the installed one allows', async () => {
    const profile = JSON.parse(await readFile(join(dataDir(), 'seccomp-task.json'), 'utf8')) as {
      syscalls: { names: string[]; action: string }[];
    };
    const allowed = new Set(
      profile.syscalls.filter((rule) => rule.action === 'SCMP_ACT_ALLOW').flatMap((rule) => rule.names),
    );
    expect(allowed.size).toBeGreaterThan(250);
    for (const call of ['unshare', 'mount', 'keyctl', 'bpf', 'io_uring_setup', 'clone3', 'ptrace'])
      expect(allowed.has(call)).toBe(false);
  });

  it('removes every container, launch file and control group that it made', async () => {
    const spec = makeSpec(shell('exit 3'), { env: { A: 'b' } });
    await runToEnd(executor, spec);
    expect((await podman('ps', '--all', '--quiet', `--filter=label=cp.runner=${RUNNER_ID}`)).stdout).toBe('');
    const folders = await readdir('/dev/shm').catch(() => []);
    const launches = await Promise.all(
      folders.filter((name) => name.startsWith('svc-runner-')).map((name) => readdir(join('/dev/shm', name))),
    );
    expect(launches.flat()).not.toContain(`cp-${spec.workId}-1`);
  });

  it('shows limits, labels and walls to the engine, and no variable of the task', async () => {
    const run = await begun(
      executor,
      makeSpec(shell('echo up; sleep 30'), { epoch: 4, env: { TOKEN: 'visible?' } }),
    );
    const listed = await podman('ps', '--quiet', '--no-trunc', `--filter=label=cp.runner=${RUNNER_ID}`);
    const [id = ''] = listed.stdout.split('\n');
    const text = (await podman('inspect', id)).stdout;
    const [container] = JSON.parse(text) as {
      Config: { Labels: Record<string, string> };
      HostConfig: Record<string, unknown>;
    }[];
    expect(container?.Config.Labels).toMatchObject({ 'cp.runner': RUNNER_ID, 'cp.epoch': '4' });
    expect(Number(container?.Config.Labels['cp.deadline'])).toBeGreaterThan(Date.now() / 1000);
    expect(container?.HostConfig).toMatchObject({
      ReadonlyRootfs: true,
      NetworkMode: 'none',
      PidsLimit: 32,
      Memory: 67_108_864,
      MemorySwap: 67_108_864,
      Privileged: false,
      AutoRemove: false,
    });
    expect(text).not.toContain('visible?');
    await ended(run);
  });

  describe.runIf(process.getuid?.() === 0)('as root, with a range of users for containers', () => {
    /** Finds the host's uids of the processes with this command line. */
    const usersOf = async (line: string): Promise<number[]> => {
      const running = (await hostProcesses()).filter((process) => process.line === line);
      // It may have ended meanwhile.
      const states = running.map(
        async ({ pid }) => await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''),
      );
      return (await Promise.all(states)).flatMap((text) => Number(/^Uid:\t(\d+)/m.exec(text)?.[1] ?? []));
    };

    /** Returns the only one. */
    const userOf = async (line: string): Promise<number> => {
      const [uid = NaN] = await waitFor('its process', async () => await usersOf(line), {
        holds: (at) => at.length === 1,
      });
      return uid;
    };

    it('gives each task users that are nobody on the host, nor in another task', async () => {
      expect(executor.sharedUsers).toBeUndefined();
      const specs = ['3331', '3332'].map((seconds) => makeSpec(shell(`id -u; exec sleep ${seconds}`)));
      const runs = await Promise.all(specs.map(async (spec) => await begun(executor, spec, '65532\n')));
      expect(runs.map((run) => run.text())).toEqual(['65532\n', '65532\n']);
      const uids = [await userOf('sleep 3331'), await userOf('sleep 3332')];
      await Promise.all(runs.map(ended));
      for (const uid of uids) expect(uid).toBeGreaterThan(2 * RANGE_IDS);
      expect(Math.abs(uids[0]! - uids[1]!)).toBeGreaterThanOrEqual(RANGE_IDS);
    });

    it('does the same for a build step, which owns its clone as long as it runs', async () => {
      const folder = join(dataDir(), 'clone');
      await mkdir(join(folder, 'sub'), { recursive: true, mode: 0o700 });
      await writeFile(join(folder, 'sub', 'mine'), 'of the runner\n', { mode: 0o600 });
      await symlink('/etc/hostname', join(folder, 'out'));
      const { uid: outside } = await stat('/etc/hostname');
      const script = 'id -u; cat sub/mine; ln -s /etc/passwd sub/link; echo x >sub/made; exec sleep 3333';
      const spec = makeSpec(shell(script), { network: 'private', clone: { folder, user: '0:0' } });
      const run = await begun(executor, spec, '0\nof the runner\n');
      expect(run.text()).toBe('0\nof the runner\n');
      expect(await userOf('sleep 3333')).toBeGreaterThan(2 * RANGE_IDS);
      await ended(run);
      for (const name of ['.', 'sub', 'sub/mine', 'sub/made', 'sub/link'])
        expect((await lstat(join(folder, name))).uid).toBe(0);
      for (const path of ['/etc/hostname', '/etc/passwd']) expect((await stat(path)).uid).toBe(outside);
    });
  });

  it('notices that a container was removed behind its back', async () => {
    const spec = makeSpec(shell('echo up; sleep 30'));
    const run = await begun(executor, spec);
    await podman('rm', '--force', '--time=0', `cp-${spec.workId}-1`);
    expect((await run.running.done).reason).toMatch(/^(engine_error|exit)$/);
  });

  it('makes a base image from linked tools where there is no static busybox', async () => {
    const image = await ensureBaseImage('podman', dataDir(), false);
    try {
      const run = await runToEnd(
        executor,
        makeSpec(shell('seq 3 | wc -l; id -u; echo x >/tmp/x; cat /tmp/x; ls /lib | head -1'), {
          image,
        }),
      );
      expect(run).toMatchObject({ reason: 'exit', exitCode: 0, stderr: '' });
      expect(run.stdout).toMatch(/^3\n65532\nx\n/);
    } finally {
      await podman('rmi', image);
    }
  });

  it('finds an image by its exact name, and by no part of its id or name', async () => {
    const image = await ensureBaseImage('podman', dataDir());
    const format = '--format={{.Id}} {{index .RepoDigests 0}}';
    const [id = '', byDigest = ''] = (await podman('image', 'inspect', format, image)).stdout
      .trim()
      .split(' ');
    // podman itself takes all of these for the image.
    for (const part of [id, id.slice(0, 12), id.slice(0, 5), `sha256:${id}`])
      await expect(executor.start(makeSpec(['true'], { image: part }), () => undefined)).rejects.toThrow(
        'could be the id of any image',
      );
    const short = image.replace('localhost/', '');
    for (const name of [image, short, byDigest])
      expect(await runToEnd(executor, makeSpec(['true'], { image: name }))).toMatchObject({ exitCode: 0 });
    for (const name of [
      image.replace('localhost/', 'docker.io/library/'),
      `other/${short}`,
      short.split(':')[0] ?? '',
    ])
      expect((await runToEnd(executor, makeSpec(['true'], { image: name }))).message).toContain(
        `image ${name} is not on this machine`,
      );
  });

  it('uses the image that was asked for, and the default image otherwise', async () => {
    const images = (await podman('images', '--format', '{{.Repository}}:{{.Tag}}')).stdout.split('\n');
    const base = images.find((image) => image.startsWith('localhost/svc-base:'));
    expect(
      await runToEnd(executor, makeSpec(['true'], base === undefined ? {} : { image: base })),
    ).toMatchObject({ exitCode: 0 });
    const other = await createPodmanExecutor({
      dataDir: dataDir(),
      runnerId: RUNNER_ID,
      defaultImage: 'localhost/not-here:1',
      log: () => undefined,
    });
    expect((await runToEnd(other, makeSpec(['true']))).message).toContain(
      'localhost/not-here:1 is not on this machine',
    );
  });
});
