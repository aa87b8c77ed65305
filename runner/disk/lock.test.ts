import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acquireLock, isDeadHere, lockHolder, LockedError, ownMark } from './lock.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

/** Leaves the lock of a daemon that is gone, with these marks of another process. */
async function leaveLock(dir: string, marks: object): Promise<void> {
  const lock = await acquireLock(dir, 'one');
  const holder = JSON.parse(readFileSync(join(dir, 'lock'), 'utf8')) as object;
  await lock.release();
  writeFileSync(join(dir, 'lock'), JSON.stringify({ ...holder, ...marks, token: 'dead' }));
}

describe('lock, 2.7 a crash leaves the identity free and a living daemon keeps it', () => {
  it('refuses a second daemon and names the first', async () => {
    const dir = tempDir();
    const lock = await acquireLock(dir, 'one');
    await expect(acquireLock(dir, 'two')).rejects.toThrow(new RegExp(`pid ${process.pid}`));
    expect((await lockHolder(dir))?.pid).toBe(process.pid);
    await lock.release();
    expect(existsSync(join(dir, 'lock'))).toBe(false);
    await (await acquireLock(dir, 'two')).release();
  });

  it('takes over from a process that is gone', async () => {
    const dir = tempDir();
    const child = spawn('true');
    await once(child, 'exit');
    await leaveLock(dir, { pid: child.pid });
    await (await acquireLock(dir, 'two')).release();
  });

  it('takes over from a process that was killed and that its parent has not noticed yet', async () => {
    const dir = tempDir();
    // The shell becomes a sleep that never waits for its child; the child dies only then, or the shell itself
    // would notice.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
    await waitFor(
      'the shell to be gone',
      () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8').trim() === 'sleep',
    );
    process.kill(Number(pid.toString()), 'SIGKILL');
    const stat = `/proc/${pid.toString().trim()}/stat`;
    const startTime = await waitFor('the zombie', () => {
      const fields = readFileSync(stat, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return fields[0] === 'Z' ? fields[19] : undefined;
    });
    await leaveLock(dir, { pid: Number(pid.toString()), startTime });
    await (await acquireLock(dir, 'two')).release();
  });

  it('takes over when the process id was given to another process', async () => {
    const dir = tempDir();
    await leaveLock(dir, { startTime: '1' });
    expect(await lockHolder(dir)).toBeUndefined();
    await (await acquireLock(dir, 'two')).release();
  });

  it('believes a holder in another container as long as it touches its file', async () => {
    const dir = tempDir();
    const path = join(dir, 'lock');
    writeFileSync(path, JSON.stringify({ pid: 7, space: 'elsewhere', token: 'there' }));
    await expect(acquireLock(dir, 'two')).rejects.toThrow(LockedError);
    utimesSync(path, new Date(Date.now() - 120_000), new Date(Date.now() - 120_000));
    await (await acquireLock(dir, 'two')).release();
  });

  it('lets exactly one of many win a stale lock', async () => {
    for (let round = 0; round < 20; round += 1) {
      const dir = tempDir();
      writeFileSync(join(dir, 'lock'), 'garbage');
      const results = await Promise.allSettled(
        ['a', 'b', 'c', 'd', 'e'].map(async (token) => await acquireLock(dir, token)),
      );
      const locks = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(locks, `round ${round}`).toHaveLength(1);
      await locks[0]?.release();
    }
  });
});

describe('isDeadHere()', () => {
  const own = ownMark({ machineBoot: 'boot-a', engine: 'podman 0' });

  it.runIf(own !== undefined)(
    'proves the death of a process of this start of the machine alone',
    async () => {
      if (own === undefined) throw new Error('this system has no /proc');
      const child = spawn('true');
      await once(child, 'exit');
      const dead = { ...own, pid: child.pid ?? 0 };
      expect(isDeadHere(dead, own)).toBe(true);
      expect(isDeadHere({ ...dead, machineBoot: 'boot-b' }, own)).toBe(false);
      expect(isDeadHere({ ...dead, space: 'elsewhere pid:[1]' }, own)).toBe(false);
      expect(isDeadHere({ ...dead, engine: 'docker 0' }, own)).toBe(false);
      expect(isDeadHere(own, own)).toBe(false);
      // Its pid belongs to another process by now.
      expect(isDeadHere({ ...own, startTime: '1' }, own)).toBe(true);
      expect(isDeadHere(undefined, own)).toBe(false);
      expect(isDeadHere(dead, undefined)).toBe(false);
    },
  );
});
