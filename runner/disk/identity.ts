/**
 * This file keeps the identity of this runner: its data folder, its private key, and the result of its
 * enrollment. The folder is 0700 and the files are 0600; anything looser is refused rather than repaired,
 * because somebody may have read the key already.
 */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { link, open, unlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  generateSigningKey,
  signingKeyFromPem,
  signingKeyToPem,
  type SigningKey,
} from '@svc/proto/signature/keys.ts';
import { syncFolder, writeDurably } from './durable-file.ts';
import { errorCode, isMissing, errorText } from '../platform/errors.ts';
import type { WireIntervals } from '../control-plane/wire.ts';

/** The result of the enrollment, and the settings that a person may add for `run` (see its help). */
export interface RunnerConfig {
  version: 1;
  baseUrl: string;
  runnerId: string;
  teamId: string;
  name: string;
  labels: Record<string, string>;
  intervals?: WireIntervals;
  enrolledAt: string;
  [setting: string]: unknown;
}

/** This machine is not set up as it must be; the message says what to do. Exit code 1. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}

export interface DataPaths {
  dataDir: string;
  key: string;
  config: string;
  journal: string;
  outbox: string;
  spool: string;
  state: string;
  statusSocket: string;
}

/**
 * @param folder May be relative to the working directory; the paths are not, because commands that are given
 *   them run elsewhere.
 */
export function dataPaths(folder: string): DataPaths {
  const dataDir = resolve(folder);
  return {
    dataDir,
    key: join(dataDir, 'key.pem'),
    config: join(dataDir, 'config.json'),
    journal: join(dataDir, 'journal.jsonl'),
    outbox: join(dataDir, 'outbox'),
    spool: join(dataDir, 'spool'),
    state: join(dataDir, 'state.json'),
    statusSocket: join(dataDir, 'status.sock'),
  };
}

export function defaultDataDir(env: NodeJS.ProcessEnv): string {
  if (process.getuid?.() === 0) return '/var/lib/svc-runner';
  return join(env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'svc-runner');
}

/** Makes the folder when it is missing, and refuses one that others can look into. */
export function ensureDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  requirePrivate(dataDir, '700');
}

/** Returns the mode when others may read the path; undefined when they may not. */
export function looseModeOf(path: string): string | undefined {
  const { mode } = statSync(path);
  return (mode & 0o077) === 0 ? undefined : (mode & 0o777).toString(8).padStart(3, '0');
}

function requirePrivate(path: string, wanted: string): void {
  const mode = looseModeOf(path);
  if (mode === undefined) return;
  throw new SetupError(
    `${path} has mode ${mode}, others may read it; run: chmod ${wanted} ${path} (and enroll anew if somebody could have copied the key)`,
  );
}

export function readKey(path: string): SigningKey {
  try {
    requirePrivate(path, '600');
    return signingKeyFromPem(readFileSync(path, 'utf8'));
  } catch (error) {
    if (isMissing(error))
      throw new SetupError(`there is no key at ${path}; enroll this machine first: svc-runner enroll --help`);
    if (error instanceof RangeError) throw new SetupError(`${path}: ${error.message}`);
    throw error;
  }
}

/** Returns the key of an enrollment that was begun before, or a new one; never overwrites a key. */
export async function readOrMakeKey(paths: DataPaths): Promise<SigningKey> {
  const key = generateSigningKey();
  const temporary = `${paths.key}.${process.pid}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(signingKeyToPem(key));
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    // A link, unlike a rename, does not replace what is there.
    await link(temporary, paths.key);
    await syncFolder(paths.dataDir);
    return key;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    return readKey(paths.key);
  } finally {
    await unlink(temporary);
  }
}

export function readConfig(paths: DataPaths): RunnerConfig | undefined {
  let text: string;
  try {
    requirePrivate(paths.config, '600');
    text = readFileSync(paths.config, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const config = JSON.parse(text) as Partial<RunnerConfig>;
    if (typeof config.baseUrl !== 'string' || typeof config.runnerId !== 'string')
      throw new SyntaxError('it names no baseUrl or runnerId');
    if (config.version !== undefined && config.version > 1)
      throw new SyntaxError(
        `it has version ${config.version}, this svc-runner knows 1: a newer one wrote it, start that`,
      );
    return { labels: {}, ...config } as RunnerConfig;
  } catch (error) {
    throw new SetupError(`${paths.config} is unreadable: ${errorText(error)}`);
  }
}

export function requireConfig(paths: DataPaths): RunnerConfig {
  const config = readConfig(paths);
  if (config === undefined)
    throw new SetupError(
      `${paths.dataDir} holds no enrolled runner; run: svc-runner enroll --url <base url> --data-dir ${paths.dataDir}`,
    );
  return config;
}

export async function writeConfig(paths: DataPaths, config: RunnerConfig): Promise<void> {
  await writeDurably(paths.config, `${JSON.stringify(config, undefined, 2)}\n`);
}
