/**
 * This file tests the rules of version 2 on a tree of plain files; the namespaces tests use version 1 where
 * the machine has it.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { detectCgroups, oomKillsOf } from './cgroup.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { parseMountinfo } from './procfs.ts';

const LIMITS = { timeoutSeconds: 10, memoryMb: 64, cpus: 1.5, pids: 32, outputBytes: 1 };

describe('detectCgroups()', () => {
  let root: string;
  beforeEach(() => void (root = tempDir()));

  const read = (...path: string[]) => readFile(join(root, ...path), 'utf8');

  async function unifiedGroup(path: string, members: string, enabled = ''): Promise<void> {
    const folder = join(root, path);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'cgroup.procs'), members);
    await writeFile(join(folder, 'cgroup.subtree_control'), enabled);
    await writeFile(join(folder, 'cgroup.controllers'), enabled);
  }

  const detect = (own: string) =>
    detectCgroups({
      mounts: parseMountinfo(`31 23 0:28 / ${root} rw - cgroup2 cgroup2 rw`),
      self: `0::${own}\n`,
      pid: 42,
    });

  it('steps down into a leaf when the daemon is alone in its group', async () => {
    await writeFile(join(root, 'cgroup.controllers'), 'cpu memory pids');
    await unifiedGroup('svc.service', '42\n', 'memory pids cpu');
    await unifiedGroup('svc.service/svc-runner', '', 'memory pids cpu');
    const host = await detect('/svc.service');
    expect(host?.version).toBe('v2');
    expect([...(host?.covers ?? [])].sort()).toEqual(['cpu', 'memory', 'pids']);
    expect(await read('svc.service/svc-daemon/cgroup.procs')).toBe('42');
  });

  it('stays where it is when others live in the group', async () => {
    await writeFile(join(root, 'cgroup.controllers'), 'memory');
    await unifiedGroup('shared', '42\n43\n', 'memory pids cpu');
    await unifiedGroup('shared/svc-runner', '', 'memory');
    expect([...((await detect('/shared'))?.covers ?? [])]).toEqual(['memory']);
    await expect(read('shared/svc-daemon/cgroup.procs')).rejects.toThrow('ENOENT');
  });

  it('offers nothing when no controller can be used', async () => {
    await writeFile(join(root, 'cgroup.controllers'), 'cpu io');
    expect(await detect('/')).toBeUndefined();
    expect(await detectCgroups({ mounts: [], self: '0::/\n', pid: 42 })).toBeUndefined();
  });

  it('covers version 1 controller by controller, in the daemon’s own group', async () => {
    const mounts = parseMountinfo(
      [
        `1 0 0:1 / ${root}/memory rw - cgroup cgroup rw,memory`,
        `2 0 0:2 / ${root}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct`,
      ].join('\n'),
    );
    const host = await detectCgroups({
      mounts,
      self: '4:memory:/own\n2:cpu,cpuacct:/own\n1:pids:/own\n',
      pid: 42,
    });
    expect([...(host?.covers ?? [])]).toEqual(['memory', 'cpu']);
    for (const base of ['memory/own/svc-runner/run', 'cpu,cpuacct/own/svc-runner/run']) {
      await expect(read(base, 'cgroup.procs')).rejects.toThrow('ENOENT');
    }
    const group = await host?.create('run', LIMITS);
    await group?.add(77);
    expect(await read('memory/own/svc-runner/run/cgroup.procs')).toBe('77');
    expect(await read('cpu,cpuacct/own/svc-runner/run/cgroup.procs')).toBe('77');
  });
});

describe('oomKillsOf()', () => {
  it('reads the count of either version', async () => {
    const folder = tempDir();
    expect(await oomKillsOf(folder)).toBe(0);
    await writeFile(join(folder, 'memory.oom_control'), 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n');
    expect(await oomKillsOf(folder)).toBe(2);
    await writeFile(join(folder, 'memory.events'), 'low 0\nmax 8\noom 3\noom_kill 3\noom_group_kill 0\n');
    expect(await oomKillsOf(folder)).toBe(3);
  });
});

describe('parseMountinfo()', () => {
  it('unescapes paths and splits options', () => {
    expect(
      parseMountinfo('36 35 98:0 /sub\\040dir /mnt/a\\011b ro,nosuid shared:1 - tmpfs none rw,memory\n'),
    ).toEqual([
      {
        root: '/sub dir',
        point: '/mnt/a\tb',
        options: ['ro', 'nosuid'],
        type: 'tmpfs',
        superOptions: ['rw', 'memory'],
      },
    ]);
  });
});
