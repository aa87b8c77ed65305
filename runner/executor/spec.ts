/**
 * Refuses a spec that could never run, or of which an engine would read a part as something else than a name:
 * every text of it ends up in an argument list, a path or a label.
 */
import { problemOfImage } from '@svc/proto/images/reference.ts';
import type { SandboxLimits, SandboxSpec } from './executor.ts';

/** The spec itself is at fault: the control plane should never have sent it. */
export class InvalidSpecError extends Error {
  override readonly name = 'InvalidSpecError';
}

/** The kernel takes at most 128 KiB in one argument or variable (MAX_ARG_STRLEN, with its terminator). */
const STRING_BYTES_MAX = 131_071;
/** Half of the 2 MiB that a default stack allows for arguments and environment together. */
const STRINGS_BYTES_MAX = 1_048_576;
/** Well below 2^31 ms, beyond which a timer would fire at once. */
const TIMEOUT_SECONDS_MAX = 7 * 86_400;

const ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
interface Range {
  min: number;
  max: number;
  whole: boolean;
}

const LIMITS: Record<keyof SandboxLimits, Range> = {
  timeoutSeconds: { min: 0.1, max: TIMEOUT_SECONDS_MAX, whole: false },
  memoryMb: { min: 16, max: 4_194_304, whole: true },
  cpus: { min: 0.01, max: 1024, whole: false },
  pids: { min: 4, max: 4_194_304, whole: true },
  outputBytes: { min: 0, max: Number.MAX_SAFE_INTEGER, whole: true },
};

/** Throws InvalidSpecError; the message names the field, the value and what is allowed. */
export function checkSpec(spec: SandboxSpec): void {
  checkId('runnerId', spec.runnerId);
  checkId('workId', spec.workId);
  if (!Number.isSafeInteger(spec.epoch) || spec.epoch < 0) {
    throw new InvalidSpecError(`epoch is ${spec.epoch}, expected a whole number from 0`);
  }
  const network = typeof spec.network === 'object' ? 'private' : spec.network;
  if (network !== 'none' && (network !== 'private' || spec.clone === undefined))
    throw new InvalidSpecError(`network is ${quote(network)}, only "none" is supported`);
  if (spec.image !== undefined) checkImage(spec.image);
  checkCommand(spec.command);
  checkEnv(spec.env);
  if (spec.workdir !== undefined) checkWorkdir(spec.workdir);
  checkLimits(spec.limits);
  const bytes = [...spec.command, ...Object.entries(spec.env).flat()].reduce(
    (sum, text) => sum + Buffer.byteLength(text) + 1,
    0,
  );
  if (bytes > STRINGS_BYTES_MAX) {
    throw new InvalidSpecError(`command and env together are ${bytes} bytes, limit ${STRINGS_BYTES_MAX}`);
  }
}

export function checkId(field: string, value: string): void {
  if (!ID.test(value)) {
    throw new InvalidSpecError(
      `${field} is ${quote(value)}, expected 1 to 128 of A-Z a-z 0-9 _ . - starting with a letter or digit`,
    );
  }
}

export function checkImage(image: string): void {
  const problem = problemOfImage(image);
  if (problem !== undefined) throw new InvalidSpecError(`image is ${quote(image)}: ${problem}`);
}

function checkCommand(command: readonly string[]): void {
  const first = command[0];
  if (first === undefined || first === '')
    throw new InvalidSpecError('command is empty, expected a program and its arguments');
  if (first.startsWith('-'))
    throw new InvalidSpecError(`command starts with ${quote(first)}, a program name cannot start with "-"`);
  for (const [index, argument] of command.entries()) checkText(`command[${index}]`, argument);
}

function checkEnv(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.startsWith('-') || /[=\n\r\0]/.test(name)) {
      throw new InvalidSpecError(
        `env name is ${quote(name)}, it cannot be empty, start with "-" or hold "=", a line break or NUL`,
      );
    }
    checkText(`env ${quote(name)}`, `${name}=${value}`);
  }
}

function checkWorkdir(workdir: string): void {
  if (!workdir.startsWith('/') || workdir.split('/').includes('..') || /[\n\r]/.test(workdir)) {
    throw new InvalidSpecError(`workdir is ${quote(workdir)}, expected an absolute path without ".."`);
  }
  checkText('workdir', workdir);
}

function checkText(field: string, text: string): void {
  if (text.includes('\0'))
    throw new InvalidSpecError(`${field} holds a NUL character, which no program can receive`);
  const bytes = Buffer.byteLength(text);
  if (bytes > STRING_BYTES_MAX)
    throw new InvalidSpecError(`${field} is ${bytes} bytes, limit ${STRING_BYTES_MAX}`);
}

/** Throws InvalidSpecError for a limit that is out of its range; absent ones are not checked. */
export function checkLimits(limits: Partial<SandboxLimits>): void {
  for (const [name, value] of Object.entries(limits))
    checkLimit(name, value, LIMITS[name as keyof SandboxLimits]);
}

function checkLimit(name: string, value: number, range: Range): void {
  const inside = Number.isFinite(value) && value >= range.min && value <= range.max;
  if (!inside || (range.whole && !Number.isSafeInteger(value))) {
    const kind = range.whole ? 'a whole number' : 'a number';
    throw new InvalidSpecError(
      `limits.${name} is ${value}, expected ${kind} from ${range.min} to ${range.max}`,
    );
  }
}

/** Shortens any text to one line. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
