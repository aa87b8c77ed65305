/**
 * This file runs one short command of the host (an engine call, ldd, mkfifo) with a time limit and without a
 * shell.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The limit is above any expected answer; a command that exceeds it is killed before it fills the daemon's
 * memory.
 */
const OUTPUT_BYTES_MAX = 16 * 1_048_576;

export interface CommandResult {
  /** Absent when it was killed by a signal or at the time limit, or never started. */
  code?: number;
  stdout: string;
  stderr: string;
  /** The reason why there is no usable exit code: time limit, not installed, too much output. */
  failure?: string;
}

export interface CommandOptions {
  timeoutMs: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Text for its standard input. */
  input?: string;
}

/** Never rejects: errors are in the result. */
export async function runCommand(argv: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const [program, ...args] = argv;
  if (program === undefined) return { stdout: '', stderr: '', failure: 'empty command' };
  return await new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(options.env === undefined ? {} : { env: options.env }),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    child.stdin.on('error', () => undefined); // A command may end without reading its input.
    child.stdin.end(options.input);
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let bytes = 0;
    let failure: string | undefined;
    const fail = (reason: string) => {
      failure ??= reason;
      child.kill('SIGKILL');
      // A grandchild may hold the pipes open: it is not waited for.
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const timer = setTimeout(
      () => fail(`${program} did not answer within ${options.timeoutMs} ms`),
      options.timeoutMs,
    );
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > OUTPUT_BYTES_MAX) fail(`${program} wrote more than ${OUTPUT_BYTES_MAX} bytes`);
        else output[stream].push(chunk);
      });
    }
    const finish = (code: number | null) => {
      clearTimeout(timer);
      const texts = {
        stdout: Buffer.concat(output.stdout).toString(),
        stderr: Buffer.concat(output.stderr).toString(),
      };
      resolve({
        ...texts,
        ...(code === null || failure !== undefined ? {} : { code }),
        ...(failure === undefined ? {} : { failure }),
      });
    };
    child.once('error', (error) => {
      failure ??= `${program} cannot be started: ${error.message}`;
      finish(null);
    });
    child.once('close', (code, signal) => {
      if (signal !== null) failure ??= `${program} was killed by ${signal}`;
      finish(code);
    });
  });
}

/**
 * Returns the failure of a command for a message, which is its last non-empty lines. What it says of errors
 * comes last: engines print what they did for some of several names to their standard output.
 */
export function failureText(result: CommandResult): string {
  if (result.failure !== undefined) return result.failure;
  const lines = `${result.stdout}\n${result.stderr}`.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-3).join('; ').slice(-1000) || `exit code ${result.code}`;
}

/** Daemons are often started with a PATH without the sbin folders, where runtimes and pivot_root live. */
const MORE_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Absolute path of a program, or undefined when it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [
    ...(process.env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/')),
    ...MORE_FOLDERS,
  ];
  return folders.map((folder) => join(folder, name)).find(isExecutableFile);
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
