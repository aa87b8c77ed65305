/**
 * One run in Linux namespaces: the daemon's half of the protocol with the scripts in namespace-script.ts.
 *
 * The daemon owns the folder of the run (two FIFOs and a record for the reaper), the control group, and the
 * two processes it can name: `unshare`, which stays outside and waits, and the sandbox's init. Both die with
 * the daemon (parent-death signal).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { close, closeSync, constants, open, openSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Duplex } from 'node:stream';
import type { CgroupHost, SandboxCgroup } from './cgroup.ts';
import { failureText, runCommand } from './command.ts';
import type { SandboxSpec } from './executor.ts';
import { launchScript } from './launcher.ts';
import { watchMemory, type MemoryWatchdog } from './memory-watchdog.ts';
import {
  enterScript,
  setupScript,
  TASK_ID,
  TASK_PATH,
  TASK_TMPFS,
  type HostLayout,
} from './namespace-script.ts';
import { bootId, childrenOf, startTimeOf } from './procfs.ts';
import {
  settledWithin,
  SandboxError,
  signalOfExitCode,
  type Abort,
  type ProcessExit,
  type Sandbox,
  type StartedProcess,
  type Verdict,
} from './supervise.ts';

const SETUP_TIMEOUT_MS = 10_000;
const LAST_MESSAGES_MS = 1_000;
/** Limit of the scripts' messages before the task runs; errors are short. */
const MESSAGE_BYTES_MAX = 16_384;

/**
 * Host ids that become root and the task inside; one id each, so nothing else of the host is even nameable.
 */
export interface IdMap {
  rootUid: number;
  rootGid: number;
  /** Absent when the runner may only map itself. */
  task?: { uid: number; gid: number };
}

export interface SandboxHost {
  layout: HostLayout;
  cgroups: CgroupHost | undefined;
  filter: Uint8Array | undefined;
  /** The daemon's own descriptors that would otherwise be open in the task. */
  inherited: readonly number[];
}

/** The record by which reap finds this run again after a crash. */
export interface SandboxRecord {
  runnerId: string;
  workId: string;
  epoch: number;
  bootId: string;
  initPid: number;
  initStartTime: string;
}

export interface NamespaceSandboxOptions {
  spec: SandboxSpec;
  name: string;
  /** The folder is made by prepare and removed by cleanup. */
  folder: string;
  host: SandboxHost;
  ids: IdMap;
}

export class NamespaceSandbox implements Sandbox {
  readonly #options: NamespaceSandboxOptions;
  #cgroup: SandboxCgroup | undefined;
  #child: ChildProcess | undefined;
  #exited: Promise<ProcessExit> = Promise.resolve({});
  #gone = false;
  #initPid: number | undefined;
  #watchdog: MemoryWatchdog | undefined;
  readonly #sources: Socket[] = [];
  #messages = '';
  #closed: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;

  constructor(options: NamespaceSandboxOptions) {
    this.#options = options;
  }

  async prepare(): Promise<void> {
    const { folder, host, name, spec } = this.#options;
    if (spec.image !== undefined) {
      throw new SandboxError(
        `image ${spec.image} cannot be used: this runner isolates with Linux namespaces and has no images; leave the image out, or install podman`,
      );
    }
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const making = runCommand(['mkfifo', '-m', '0622', this.#pipe('stdout'), this.#pipe('stderr')], {
      timeoutMs: SETUP_TIMEOUT_MS,
    });
    this.#cgroup = await host.cgroups?.create(name, spec.limits);
    const made = await making;
    if (made.code !== 0)
      throw new SandboxError(`output pipes cannot be made in ${folder}: ${failureText(made)}`);
  }

  async start(abort: Abort): Promise<StartedProcess> {
    // The pipes are FIFOs rather than Node's sockets: a task may open /dev/stdout and /dev/stderr, which a
    // socket refuses.
    const stdout = await this.#openPipe('stdout');
    const stderr = await this.#openPipe('stderr');
    const child = this.#spawn(stdout.writeFd, stderr.writeFd);
    await Promise.all([closeFd(stdout.writeFd), closeFd(stderr.writeFd)]);
    const control = child.stdio[3] as Duplex;
    this.#listen(control);
    child.stderr?.on('data', (chunk: Buffer) => this.#receive(chunk));
    child.stdin?.on('error', () => undefined); // A task may end without reading its input.
    child.stdin?.end(this.#options.spec.stdin);
    await this.#waitFor('up');
    await this.#admit(child);
    const { env, workdir } = this.#options.spec;
    const launch = launchScript({ PATH: TASK_PATH, HOME: '/workspace', ...env }, workdir ?? '/workspace');
    control.end(`go\n${launch}`);
    await this.#waitFor('started');
    this.#watch(abort);
    return {
      stdout: stdout.source,
      stderr: stderr.source,
      exited: this.#exited,
      abandon: () => this.#killAll(),
    };
  }

  async signal(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#gone) return;
    if (signal === 'SIGKILL') return this.#killAll();
    // Init has no handler and would ignore it; its children are the task and what the task left to it.
    const tasks = this.#initPid === undefined ? [] : await childrenOf(this.#initPid);
    if (tasks.length === 0) throw new SandboxError('the task has not started yet');
    if (!this.#gone) for (const pid of tasks) killIfThere(pid, signal);
  }

  async verdict(): Promise<Verdict> {
    await this.#awaitClose();
    // Without its last message init was killed, by the daemon or by a reaper: unshare's own exit code then
    // means nothing.
    const exitCode = Number(/^exit (\d+)$/m.exec(this.#messages)?.[1] ?? 128 + 9);
    const signal = signalOfExitCode(exitCode);
    const facts = { exitCode, ...(signal === undefined ? {} : { signal }) };
    const kills = (await this.#cgroup?.oomKills()) ?? 0;
    if (kills === 0 || exitCode === 0) return { reason: 'exit', ...facts };
    return {
      reason: 'memory',
      ...facts,
      message: `over the memory limit of ${this.#options.spec.limits.memoryMb} MiB`,
    };
  }

  async cleanup(): Promise<void> {
    this.#watchdog?.stop();
    this.#killAll();
    await settledWithin(this.#exited, SETUP_TIMEOUT_MS);
    for (const source of this.#sources) source.destroy();
    try {
      await this.#cgroup?.remove();
    } finally {
      await rm(this.#options.folder, { recursive: true, force: true });
    }
  }

  #pipe(stream: 'stdout' | 'stderr'): string {
    return join(this.#options.folder, stream);
  }

  async #openPipe(stream: 'stdout' | 'stderr'): Promise<{ source: Socket; writeFd: number }> {
    const fifo = await openFifo(this.#pipe(stream));
    this.#sources.push(fifo.source);
    return fifo;
  }

  #spawn(stdoutFd: number, stderrFd: number): ChildProcess {
    const nullFd = openSync('/dev/null', 'r+');
    try {
      return this.#watchChild(this.#spawnInit({ stdoutFd, stderrFd, nullFd }));
    } finally {
      closeSync(nullFd);
    }
  }

  #spawnInit({
    stdoutFd,
    stderrFd,
    nullFd,
  }: {
    stdoutFd: number;
    stderrFd: number;
    nullFd: number;
  }): ChildProcess {
    const { ids, host, spec } = this.#options;
    const scripts = {
      layout: host.layout,
      limits: spec.limits,
      mappedRange: ids.task !== undefined,
      filter: host.filter,
    };
    const namespaces = ['--user', '--keep-caps', '--mount', '--pid', '--net', '--ipc', '--uts', '--cgroup'];
    const unshare = ['unshare', ...namespaces, '--fork', '--kill-child'];
    const stdio: (number | 'pipe' | 'ignore')[] = [
      spec.stdin === undefined ? 'ignore' : 'pipe',
      stdoutFd,
      'pipe',
      'pipe',
      stderrFd,
    ];
    for (const fd of host.inherited) {
      while (stdio.length <= fd) stdio.push('ignore');
      if (fd > 4) stdio[fd] = nullFd;
    }
    return spawn(
      'setpriv',
      [
        '--pdeathsig',
        'KILL',
        '--',
        ...unshare,
        '--',
        'sh',
        '-c',
        enterScript(scripts),
        'svc-init',
        setupScript(scripts),
        ...spec.command,
      ],
      {
        stdio,
        env: { PATH: TASK_PATH },
        cwd: '/',
        detached: true, // The session is its own, apart from the daemon's terminal and process group.
      },
    );
  }

  #watchChild(child: ChildProcess): ChildProcess {
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      const end = (exit: ProcessExit) => {
        this.#gone = true;
        this.#watchdog?.stop();
        this.#wake();
        resolve(exit);
      };
      child.once('error', (error) => {
        this.#messages += error.message;
        end({});
      });
      child.once('exit', (code, signal) =>
        end({ ...(code === null ? {} : { code }), ...(signal === null ? {} : { signal }) }),
      );
    });
    return child;
  }

  #listen(control: Duplex): void {
    control.on('error', () => undefined); // `exited` resolves when the other end has died.
    this.#closed = new Promise((resolve) => control.once('close', resolve));
    control.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  #receive(chunk: Buffer): void {
    if (this.#messages.length < MESSAGE_BYTES_MAX) this.#messages += chunk.toString();
    this.#wake();
  }

  /** The last messages may still be in the socket when the exit is seen. */
  async #awaitClose(): Promise<void> {
    await settledWithin(this.#closed, LAST_MESSAGES_MS);
  }

  /** This waits for a signal on a line of its own; all other messages until then are the error. */
  async #waitFor(signal: string): Promise<void> {
    const deadline = performance.now() + SETUP_TIMEOUT_MS;
    const received = () => this.#messages.split('\n').includes(signal);
    while (!received() && !this.#gone && performance.now() < deadline) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      if (!received() && !this.#gone) await settledWithin(woken, deadline - performance.now());
    }
    if (this.#gone) await this.#awaitClose();
    if (received()) return;
    const errors = this.#messages
      .split('\n')
      .filter((line) => line !== '' && line !== 'up')
      .join('; ');
    const why = this.#gone ? `ended before the task started` : `was not ready within ${SETUP_TIMEOUT_MS} ms`;
    throw new SandboxError(`the sandbox ${why}: ${errors === '' ? 'no error reported' : errors}`);
  }

  /**
   * This runs between `up` and `go`. It maps the users, limits the group and writes a record; nothing of the
   * task has run yet.
   */
  async #admit(child: ChildProcess): Promise<void> {
    const { ids, spec, folder } = this.#options;
    const [initPid] = child.pid === undefined ? [] : await childrenOf(child.pid);
    const initStartTime = initPid === undefined ? undefined : await startTimeOf(initPid);
    if (initPid === undefined || initStartTime === undefined)
      throw new SandboxError('the sandbox init ended at once');
    this.#initPid = initPid;
    const record: SandboxRecord = {
      runnerId: spec.runnerId,
      workId: spec.workId,
      epoch: spec.epoch,
      bootId: await bootId(),
      initPid,
      initStartTime,
    };
    await writeFile(join(folder, 'record.json'), JSON.stringify(record));
    const map = (root: number, task: number | undefined) =>
      `0 ${root} 1\n${task === undefined ? '' : `${TASK_ID} ${task} 1\n`}`;
    if (ids.task === undefined) await writeFile(`/proc/${initPid}/setgroups`, 'deny');
    await writeFile(`/proc/${initPid}/uid_map`, map(ids.rootUid, ids.task?.uid));
    await writeFile(`/proc/${initPid}/gid_map`, map(ids.rootGid, ids.task?.gid));
    await this.#cgroup?.add(initPid);
  }

  #watch(abort: Abort): void {
    const { host, spec } = this.#options;
    if (this.#initPid === undefined || host.cgroups?.covers.has('memory') === true || this.#gone) return;
    const limitMb = spec.limits.memoryMb;
    this.#watchdog = watchMemory({
      initPid: this.#initPid,
      limitBytes: limitMb * 1_048_576,
      tmpfsPaths: TASK_TMPFS,
      onOver: (used) =>
        abort('memory', `over the memory limit of ${limitMb} MiB: ${Math.ceil(used / 1_048_576)} MiB in use`),
    });
  }

  /** Killing init is enough: the kernel then kills the whole pid namespace. */
  #killAll(): void {
    if (this.#gone || this.#child === undefined) return;
    if (this.#initPid !== undefined) killIfThere(this.#initPid, 'SIGKILL');
    else this.#child.kill('SIGKILL');
  }
}

function killIfThere(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

// Plain descriptors are used because a FileHandle would close the number again when it is collected, under
// the socket that owns it by then.
const openFd = promisify(open);
const closeFd = promisify(close);

/** Opens the read end first, without waiting for a writer; then the write end does not wait either. */
async function openFifo(path: string): Promise<{ source: Socket; writeFd: number }> {
  const readFd = await openFd(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const source = new Socket({ fd: readFd, readable: true, writable: false });
  try {
    return { source, writeFd: await openFd(path, constants.O_WRONLY) };
  } catch (error) {
    source.destroy();
    throw error;
  }
}
