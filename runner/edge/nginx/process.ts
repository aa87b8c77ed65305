/**
 * Starts and leads the nginx of this runner, which goes on serving while the daemon is away. Whoever comes
 * back finds it by its pid file, and knows it by its title and its working folder.
 *
 * It runs in `<dataDir>/edge/nginx` with relative paths alone. The folder above is closed to other users, so
 * that a worker, which is no root, could not reach its logs and challenges by absolute ones.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { monotonicMs, pause } from '../../platform/clock.ts';
import { failureText, findProgram, runCommand } from '../../executor/command.ts';
import { readIfThere } from '../../disk/durable-file.ts';
import type { Log } from '../../platform/log.ts';
import { cleaned } from '../acme/problem.ts';
import { DRAIN_MS } from './render.ts';

const TEST_MS = 30_000;
const START_MS = 15_000;
const POLL_MS = 10;
const LOG_BYTES_MAX = 64 * 1_024;
export const PID_FILE = 'nginx.pid';
const ERROR_LOG = 'logs/error.log';

export interface NginxOptions {
  /** The folder in which it runs. */
  dir: string;
  program: string;
  /** The unit of systemd that holds it; without one it is started by the daemon itself. */
  unit?: string;
  log: Log;
}

export type Nginx = ReturnType<typeof createNginx>;

export function createNginx(options: NginxOptions) {
  const { dir } = options;
  const args = (conf: string, errors: string) => ['-p', './', '-c', conf, '-e', errors];
  return {
    /** Returns why nginx refuses the files; undefined when it takes them. */
    async refusal(conf: string): Promise<string | undefined> {
      const argv = [options.program, '-t', ...args(conf, 'stderr')];
      const tested = await runCommand(argv, { timeoutMs: TEST_MS, cwd: dir, env: environment() });
      return tested.code === 0 ? undefined : refusalIn(tested.stderr) || failureText(tested);
    },
    isRunning: () => masterPid(dir) !== undefined,
    async start(): Promise<void> {
      await endOrphans(dir);
      const own = args('nginx.conf', ERROR_LOG);
      const seen = errorsOf(dir);
      const failure = await launched(options, own, seen);
      if (failure !== undefined) throw new Error(`nginx cannot be started: ${failure}`);
      await until('nginx did not start', seen, () => workersOf(dir).some(isServing));
    },
    /** Resolves when new workers serve, and the old ones take no more connections. */
    async reload(): Promise<void> {
      const master = masterPid(dir);
      if (master === undefined) throw new Error('nginx has ended');
      const before = new Set(workersOf(dir).map(({ pid }) => pid));
      const seen = errorsOf(dir);
      process.kill(master, 'SIGHUP');
      await until('nginx did not take its new files', seen, () => {
        const serving = workersOf(dir).filter(isServing);
        return serving.length > 0 && serving.every(({ pid }) => !before.has(pid));
      });
    },
    async drained(): Promise<void> {
      const endMs = monotonicMs() + DRAIN_MS;
      while (workersOf(dir).some(({ title }) => title.includes(SHUTTING)) && monotonicMs() < endMs)
        await pause(POLL_MS * 5);
    },
    /** Has it write to new files after the old ones were renamed. */
    reopenLogs(): void {
      const master = masterPid(dir);
      if (master !== undefined) process.kill(master, 'SIGUSR1');
    },
  };
}

/** Its log has no times of another zone, and it takes over nothing else of the daemon's environment. */
const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], TZ: 'UTC' });

async function launched(
  { dir, program, unit, log }: NginxOptions,
  args: readonly string[],
  { bytes }: Errors,
): Promise<string | undefined> {
  const manager = unit === undefined ? undefined : findProgram('systemd-run');
  if (manager !== undefined) {
    const argv = [
      manager,
      `--unit=${unit}`,
      ...(process.getuid?.() === 0 ? [] : ['--user']),
      '--collect',
      '--quiet',
      '--setenv=TZ=UTC',
      '--property=Type=forking',
      `--property=PIDFile=${join(dir, PID_FILE)}`,
      `--working-directory=${dir}`,
      '--',
      program,
      ...args,
    ];
    const ran = await runCommand(argv, { timeoutMs: START_MS });
    if (ran.code === 0) return undefined;
    log.warn(
      { unit, problem: failureText(ran) },
      'systemd does not start nginx as a unit of its own; it ends with the daemon',
    );
  }
  return await new Promise((resolve) => {
    const child = spawn(program, args, { cwd: dir, detached: true, stdio: 'ignore', env: environment() });
    child.once('error', (error) => resolve(error.message));
    // It ends once its master has left it, or with what is wrong in the log.
    child.once('exit', (code) =>
      resolve(code === 0 ? undefined : refusalIn(loggedSince(dir, bytes)) || `exit code ${code}`),
    );
  });
}

/** Undefined when it does not run, or when the pid is by now of another process. */
export function masterPid(dir: string): number | undefined {
  const pid = Number(readIfThere(join(dir, PID_FILE))?.trim());
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  if (!titleOf(pid).startsWith('nginx: master process')) return undefined;
  return runsIn(pid, dir) ? pid : undefined;
}

const SHUTTING = 'is shutting down';

interface Worker {
  pid: number;
  title: string;
}

/** A child that has just been forked still has the title of its master: it is none yet. */
const isServing = ({ title }: Worker): boolean =>
  title.startsWith('nginx: worker process') && !title.includes(SHUTTING);

function workersOf(dir: string): Worker[] {
  const master = masterPid(dir);
  if (master === undefined) return [];
  const children = textOf(`/proc/${master}/task/${master}/children`).split(' ').filter(Boolean);
  // Some kernels do not list the children of a process.
  if (children.length === 0) return workersIn(dir);
  return children.map((pid) => ({ pid: Number(pid), title: titleOf(Number(pid)) }));
}

/** Finds the workers that run in the folder, whoever started them. */
function workersIn(dir: string): Worker[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    const title = titleOf(pid);
    return title.startsWith('nginx: worker process') && runsIn(pid, dir) ? [{ pid, title }] : [];
  });
}

/** Workers whose master was killed go on for ever, with old files and on the ports that a new one needs. */
async function endOrphans(dir: string): Promise<void> {
  const endMs = monotonicMs() + START_MS;
  for (const { pid } of workersIn(dir)) signal(pid, 'SIGQUIT');
  while (workersIn(dir).some(isServing) && monotonicMs() < endMs) await pause(POLL_MS);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

function runsIn(pid: number, dir: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dir);
  } catch {
    return false; // It has just ended, or is not ours to look at.
  }
}

function titleOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended.
  }
}

interface Errors {
  dir: string;
  bytes: number;
}

/** Remembers where its log of errors ends, so that what comes after belongs to what is done next. */
function errorsOf(dir: string): Errors {
  try {
    return { dir, bytes: statSync(join(dir, ERROR_LOG)).size };
  } catch {
    return { dir, bytes: 0 };
  }
}

async function until(what: string, { dir, bytes }: Errors, holds: () => boolean): Promise<void> {
  const endMs = monotonicMs() + START_MS;
  for (;;) {
    if (holds()) return;
    const refusal = refusalIn(loggedSince(dir, bytes), [FATAL]);
    if (refusal !== '') throw new Error(`${what}: ${refusal}`);
    if (monotonicMs() > endMs) throw new Error(`${what} within ${START_MS / 1_000} s`);
    await pause(POLL_MS);
  }
}

/** Reads no more than the beginning: an app that fails may write much at the same time. */
function loggedSince(dir: string, bytes: number): string {
  if (errorsOf(dir).bytes <= bytes) return '';
  const part = Buffer.alloc(LOG_BYTES_MAX);
  try {
    const file = openSync(join(dir, ERROR_LOG), 'r');
    try {
      return part.toString('utf8', 0, readSync(file, part, 0, part.length, bytes));
    } finally {
      closeSync(file);
    }
  } catch {
    return ''; // It is being rotated.
  }
}

/** Masters write the first kind; workers may write the second, of things that are none of a reload. */
const FATAL = /\[emerg\] (?:\d+#\d+: )?(.+)/;
const ALERT = /\[alert\] (?:\d+#\d+: )?(.+)/;

/** The first fatal one says why: what comes after it are tries that fail for the same reason. */
function refusalIn(text: string, patterns: readonly RegExp[] = [FATAL, ALERT]): string {
  return cleaned(patterns.map((pattern) => pattern.exec(text)?.[1]).find(Boolean) ?? '');
}
