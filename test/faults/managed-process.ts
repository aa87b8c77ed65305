/**
 * Processes that are killed on purpose and never left behind. Each runs in a process group of its own;
 * signals go to the group. When this process ends in any way, its children end too: Node programs hang on a
 * pipe (leash), others on a shell that reads one.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Preloads } from './bundles.ts';
import { clockFile } from './clock.ts';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its output goes to `<name>.log` here. */
  readonly folder: string;
  /** Printed when it is ready; undefined: ready at once. */
  readonly readyPattern?: RegExp;
  readonly readyMs: number;
  /**
   * Way in which it is tied to this process. `node` preloads the leash on descriptor 3. With `stdin` it ends
   * itself when its standard input ends.
   */
  readonly leash: 'node' | 'stdin';
}

export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly running: boolean;
  /** Starts it (again); resolves when it is ready. */
  start(): Promise<void>;
  /** Sends the signal to the whole group. It does nothing when the process is dead. */
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL, and resolves when it is dead. */
  kill(): Promise<void>;
  /** Resolves with the code of the present process when it ends. */
  exited(): Promise<number | null>;
  /** What it printed since it was started the last time. */
  output(): string;
}

const alive = new Set<number>();

/** Last resort, also when a test file ends by an exception. Signals that end this process run it too. */
function killAll(): void {
  for (const pid of alive) signalGroup(pid, 'SIGKILL');
}
process.on('exit', killAll);

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Ends the process when the other end of the pipe on descriptor 3 is gone. */
export const LEASH_SOURCE = `
const { Socket } = require('node:net');
const leash = new Socket({ fd: 3, readable: true, writable: false });
const end = () => process.kill(process.pid, 'SIGKILL');
leash.on('end', end).on('error', end).resume().unref();
`;

const KEPT = /^(PATH|HOME|LANG|LC_.*|TZ|TMPDIR|USER|LOGNAME)$/;

/** Nothing of the environment of the tests may configure what is under test. */
function cleanEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (pair): pair is [string, string] => KEPT.test(pair[0]) && pair[1] !== undefined,
    ),
  );
}

export function manageProcess(spec: ProcessSpec): ManagedProcess {
  const log = join(spec.folder, `${spec.name}.log`);
  let child: ChildProcess | undefined;
  let exit: Promise<number | null> = Promise.resolve(null);
  let printedBefore = 0;

  const output = (): string => readFrom(log, printedBefore);
  const running = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

  const launch = (): void => {
    const file = openSync(log, 'a');
    appendFileSync(file, `--- started at ${new Date().toISOString()}\n`);
    printedBefore = fstatSync(file).size;
    const started = spawn(spec.command, [...spec.args], {
      env: { ...cleanEnvironment(), ...spec.env },
      cwd: spec.folder,
      detached: true,
      stdio: spec.leash === 'node' ? ['ignore', file, file, 'pipe'] : ['pipe', file, file],
    });
    closeSync(file);
    // A dead process closes its end of the leash.
    for (const stream of started.stdio) stream?.on('error', () => undefined);
    child = started;
    const { pid } = started;
    if (pid !== undefined) alive.add(pid);
    exit = new Promise((resolve) => {
      started.once('exit', (code) => {
        if (pid !== undefined) {
          // Whoever else is left of its group has nobody to answer to.
          signalGroup(pid, 'SIGKILL');
          alive.delete(pid);
        }
        resolve(code);
      });
      started.once('error', () => resolve(null));
    });
  };

  const ready = async (): Promise<void> => {
    const { readyPattern } = spec;
    if (readyPattern === undefined) return;
    const until = performance.now() + spec.readyMs;
    while (!readyPattern.test(output())) {
      if (!running()) throw new Error(`${spec.name} ended before it was ready:\n${output().slice(-4_000)}`);
      if (performance.now() > until)
        throw new Error(`${spec.name} was not ready within ${spec.readyMs} ms:\n${output().slice(-4_000)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  return {
    name: spec.name,
    get pid() {
      return child?.pid ?? -1;
    },
    get running() {
      return running();
    },
    start: async () => {
      if (running()) throw new Error(`${spec.name} runs already`);
      launch();
      await ready();
    },
    signal: (signal) => {
      if (running() && child?.pid !== undefined) signalGroup(child.pid, signal);
    },
    kill: async () => {
      if (running() && child?.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      await exit;
    },
    exited: () => exit,
    output,
  };
}

function readFrom(path: string, offset: number): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - offset));
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, offset));
  } finally {
    closeSync(file);
  }
}

const NODE_READY_MS = 30_000;

/** Starts a Node program of ours, on the leash, and with a clock that can be stepped. */
export function manageNode(
  { leash, clock }: Preloads,
  folder: string,
  {
    name,
    script,
    readyPattern,
    env,
  }: {
    readonly name: string;
    readonly script: string;
    readonly readyPattern: RegExp;
    readonly env: Readonly<Record<string, string>>;
  },
): ManagedProcess {
  return manageProcess({
    name,
    command: process.execPath,
    args: ['--require', leash, '--require', clock, script],
    env: { ...env, FAULT_CLOCK: clockFile(folder, name) },
    folder,
    readyPattern,
    readyMs: NODE_READY_MS,
    leash: 'node',
  });
}
