/**
 * Reads and writes the configuration file: profiles with an address and a credential. It holds secrets, so it
 * is made readable for its owner alone, and replaced as a whole by a rename: a crash leaves the old one or
 * the new one.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from './errors.ts';
import type { Io } from './io.ts';
import { defined, isRecord } from './paths.ts';
import { PLACE_KINDS, type PlaceNames } from './place-kind.ts';
import { writePrivateFile } from './private-file.ts';

export interface Profile {
  readonly baseUrl: string;
  readonly kind: 'session' | 'api_key';
  /** Session token or API key. */
  readonly credential: string;
  readonly email?: string;
  readonly userId?: string;
  /** Time at which a session ends at the latest. */
  readonly expiresAt?: string;
  /** Ids of what "svc use" chose. */
  readonly place?: PlaceNames;
}

export interface Config {
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_PROFILE = 'default';

export function configPath(io: Pick<Io, 'env' | 'homeFolder'>): string {
  return xdgPath(io, ['XDG_CONFIG_HOME', '.config'], 'config.json');
}

/** Returns where a file of this program is: in the folder that the variable names, or else below home. */
export function xdgPath(
  { env, homeFolder }: Pick<Io, 'env' | 'homeFolder'>,
  [variable, folder]: readonly [variable: string, folder: string],
  file: string,
): string {
  const xdg = env[variable];
  // By the XDG rules a relative path is to be ignored.
  const base = xdg !== undefined && xdg.startsWith('/') ? xdg : join(homeFolder, folder);
  return join(base, 'svc', file);
}

export async function readConfig(io: Pick<Io, 'env' | 'homeFolder' | 'stderr'>): Promise<Config> {
  const path = configPath(io);
  const text = await readIfThere(path);
  if (text === undefined) return { profiles: {} };
  await warnIfOthersMayRead(path, io);
  try {
    return checked(JSON.parse(text));
  } catch (error) {
    throw new CliError('config_unreadable', `cannot read ${path}: ${(error as Error).message}`, {
      hints: ['repair it, or delete it and run "svc auth login"'],
      cause: error,
    });
  }
}

/** Removes the profile when `profile` is undefined. */
export async function storeProfile(
  io: Pick<Io, 'env' | 'homeFolder' | 'stderr'>,
  name: string,
  profile: Profile | undefined,
): Promise<void> {
  const path = configPath(io);
  const others = Object.entries((await readConfig(io)).profiles).filter(([known]) => known !== name);
  const profiles = Object.fromEntries(profile === undefined ? others : [...others, [name, profile]]);
  try {
    await writePrivateFile(path, `${JSON.stringify({ profiles }, undefined, 2)}\n`);
  } catch (error) {
    throw new CliError('config_unwritable', `cannot write ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError('config_unreadable', `cannot read ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function warnIfOthersMayRead(path: string, io: Pick<Io, 'stderr'>): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0 || process.platform === 'win32') return;
  await io.stderr.write(
    `svc: warning: others can read ${path}, which holds credentials; run "chmod 600 ${path}"\n`,
  );
}

function checked(value: unknown): Config {
  const profiles = isRecord(value) ? value['profiles'] : undefined;
  if (!isRecord(profiles)) throw new Error('it holds no "profiles" object');
  return {
    profiles: Object.fromEntries(
      Object.entries(profiles).map(([name, profile]) => [name, checkedProfile(name, profile)]),
    ),
  };
}

function checkedProfile(name: string, value: unknown): Profile {
  const { baseUrl, kind, credential, email, userId, expiresAt, place } = isRecord(value) ? value : {};
  if (
    typeof baseUrl !== 'string' ||
    typeof credential !== 'string' ||
    (kind !== 'session' && kind !== 'api_key')
  )
    throw new Error(`profile "${name}" lacks baseUrl, kind or credential`);
  const text = (given: unknown): string | undefined => (typeof given === 'string' ? given : undefined);
  const whose = defined({ email: text(email), userId: text(userId), expiresAt: text(expiresAt) });
  const chosen = isRecord(place)
    ? defined(Object.fromEntries(PLACE_KINDS.map((each) => [each, text(place[each])])))
    : undefined;
  return { baseUrl, kind, credential, ...whose, ...(chosen === undefined ? {} : { place: chosen }) };
}
