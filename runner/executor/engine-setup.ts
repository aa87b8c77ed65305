/**
 * The preparation that both engines need before the first run: a folder for launch scripts, a shell to read
 * them, a proof that the engine works.
 */
import { createHash } from 'node:crypto';
import { chmod, copyFile, lstat, mkdir, rename, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBaseImage, findStaticBusybox } from './base-image.ts';
import type { DetectOptions, Executor } from './executor.ts';
import { readText } from './procfs.ts';
import { messageOf } from './supervise.ts';

const TMPFS_MAGIC = 0x0102_1994;
const PROBE_SECONDS = 30;
const PROCESSES_PER_USER_MAX = 16_384;
const PROBE_TEXT = 'sandbox-probe';

/**
 * Returns undefined when the host has no static busybox: then the image's own /bin/sh reads the launch
 * script.
 */
export async function prepareShell(dataDir: string): Promise<string | undefined> {
  const busybox = await findStaticBusybox();
  if (busybox === undefined) return undefined;
  // The shell is copied: a mounted file must not change under tasks when the host is upgraded, nor carry the
  // host's labels.
  const path = join(dataDir, 'task-shell');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await copyFile(busybox, `${path}.new`);
  await chmod(`${path}.new`, 0o555);
  await rename(`${path}.new`, path);
  return path;
}

/**
 * Makes the folder with the hook that opens a task's pipes to it. The runtime gives the pipes to the task's
 * user, but for a container with users of its own it may not, and then /dev/stdout cannot be opened by its
 * name. Only the task's own processes can reach the pipes, so opening them to others gives no access.
 */
export async function prepareHooks(dataDir: string): Promise<string> {
  const folder = join(dataDir, 'hooks');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const script =
    `pid=$(sed -n 's/.*"pid": *\\([0-9][0-9]*\\).*/\\1/p'); ` +
    'for at in 0 1 2; do [ -p "/proc/$pid/fd/$at" ] && chmod 0666 "/proc/$pid/fd/$at"; done; exit 0';
  const hook = {
    version: '1.0.0',
    hook: { path: '/bin/sh', args: ['sh', '-c', script], env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'] },
    when: { always: true },
    stages: ['prestart'],
  };
  await writeFile(join(folder, 'svc-pipes.json'), JSON.stringify(hook), { mode: 0o600 });
  return folder;
}

/**
 * Launch scripts hold the tasks' environment, so the folder is in memory where a tmpfs can be had, and closed
 * to other users.
 */
export async function prepareLaunchFolder(dataDir: string, runnerId: string): Promise<string> {
  const uid = process.geteuid?.() ?? 0;
  // Two runners on one machine never share a folder, nor does one runner with another data folder.
  const own = createHash('sha256').update(`${dataDir}\0${runnerId}`).digest('hex').slice(0, 16);
  const candidates = [process.env['XDG_RUNTIME_DIR'], uid === 0 ? '/run' : undefined, '/dev/shm'].filter(
    (path) => path !== undefined,
  );
  for (const base of candidates) {
    if (!(await isTmpfs(base))) continue;
    const path = join(base, `svc-runner-${uid}-${own}`);
    if (await claim(path, uid)) return path;
  }
  const path = join(dataDir, 'launch');
  if (!(await claim(path, uid))) throw new Error(`${path} does not belong to this user`);
  return path;
}

async function isTmpfs(path: string): Promise<boolean> {
  try {
    return (await statfs(path)).type === TMPFS_MAGIC;
  } catch {
    return false; // It does not exist.
  }
}

/** /dev/shm is open to everybody: a folder that somebody else made first is not used. */
async function claim(path: string, uid: number): Promise<boolean> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const stats = await lstat(path);
    if (!stats.isDirectory() || stats.uid !== uid) return false;
    await chmod(path, 0o700);
    return true;
  } catch {
    return false; // It is not writable: the next candidate is tried.
  }
}

/**
 * The rlimit counts all processes of one user of the host, and all tasks of an engine share that user: too
 * low a value would let one task starve another, which the pids limit of each container is there to prevent.
 * A runner that is not root cannot go above its own.
 */
export async function taskProcessesMax(): Promise<number> {
  const hard = /^Max processes\s+\S+\s+(\d+)/m.exec((await readText('/proc/self/limits')) ?? '')?.[1];
  return Math.min(PROCESSES_PER_USER_MAX, hard === undefined ? PROCESSES_PER_USER_MAX : Number(hard));
}

/**
 * Returns the image of runs that name none: the configured one, otherwise one made from this machine's tools.
 * A machine without usable tools (macOS) works with a configured image.
 */
export async function chooseImage(
  program: string,
  options: DetectOptions,
): Promise<{ probe: string; runs: string }> {
  try {
    const base = await ensureBaseImage(program, options.dataDir);
    return { probe: base, runs: options.defaultImage ?? base };
  } catch (error) {
    if (options.defaultImage === undefined) throw error;
    options.log('no base image, the default image is used for the probe too', { reason: messageOf(error) });
    return { probe: options.defaultImage, runs: options.defaultImage };
  }
}

/**
 * Runs a task with all limits set; returns why it does not work, or nothing. It runs a second one when the
 * task ended well and its output was missing: podman 4.3.1 was seen to do that, once, on an overloaded
 * machine (docs/sandbox.md), and a daemon that takes it for broken ends.
 */
export async function probe(executor: Executor, runnerId: string): Promise<string | undefined> {
  const first = await runProbe(executor, runnerId);
  const { failure } = first.silent ? await runProbe(executor, runnerId) : first;
  return failure;
}

async function runProbe(
  executor: Executor,
  runnerId: string,
): Promise<{ failure: string | undefined; silent: boolean }> {
  let output = '';
  const spec = {
    runnerId,
    workId: `probe-${process.pid}-${Math.floor(performance.now())}`,
    epoch: 0,
    command: ['sh', '-c', 'echo "$SVC_PROBE"; : >/workspace/probe'],
    env: { SVC_PROBE: PROBE_TEXT },
    network: 'none' as const,
    limits: { timeoutSeconds: PROBE_SECONDS, memoryMb: 64, cpus: 1, pids: 16, outputBytes: 65_536 },
  };
  try {
    const running = await executor.start(
      spec,
      (_stream, chunk) => void (output += Buffer.from(chunk).toString()),
    );
    const outcome = await running.done;
    const well = outcome.reason === 'exit' && outcome.exitCode === 0;
    if (well && output.includes(PROBE_TEXT)) return { failure: undefined, silent: false };
    const said = output.trim().split('\n').slice(-3).join('; ') || 'no output';
    const failure =
      outcome.message ?? `probe ended with ${outcome.reason} ${outcome.exitCode ?? ''}: ${said}`;
    return { failure, silent: well };
  } catch (error) {
    return { failure: messageOf(error), silent: false };
  }
}
