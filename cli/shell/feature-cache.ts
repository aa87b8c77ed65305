/**
 * Keeps the latest answers of the resolver of platform features, so that a row of commands asks once. Only
 * good answers are kept, each for one server and one credential, of which the file holds a hash. The cache
 * can only save a request: a file that is missing, broken or cannot be written is the same as an empty one.
 */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { xdgPath } from './config.ts';
import type { Connection } from './connection.ts';
import type { Io } from './io.ts';
import { isRecord } from './paths.ts';
import { writePrivateFile } from './private-file.ts';

/**
 * An answer lets commands proceed for this long; after that, and for a refusal, it is only good for asking
 * whether it still holds.
 */
export const FRESH_MS = 60_000;
/** Servers and credentials remembered; the oldest answers go first. */
const ENTRIES_MAX = 20;

/** A feature as staff are shown it; others see `true`. */
export interface FeatureState {
  readonly enabled: boolean;
  readonly reason?: string;
  readonly blockedBy?: readonly string[];
}

/** An answer of the resolver. */
export type Features = Readonly<Record<string, true | FeatureState>>;

export interface CachedFeatures {
  readonly features: Features;
  readonly etag?: string;
  /** Time of the server's answer, in milliseconds since 1970. */
  readonly atMs: number;
}

type Place = Pick<Io, 'env' | 'homeFolder'>;
type Whose = Pick<Connection, 'baseUrl' | 'credential'>;

export function featureCachePath(io: Place): string {
  return xdgPath(io, ['XDG_CACHE_HOME', '.cache'], 'features.json');
}

/** An answer from the future is none: the clock was set back, and nobody knows how old it is. */
export function isFresh({ atMs }: CachedFeatures, nowMs: number): boolean {
  return atMs <= nowMs && nowMs - atMs < FRESH_MS;
}

export async function readCachedFeatures(io: Place, whose: Whose): Promise<CachedFeatures | undefined> {
  return (await readAll(io)).get(nameOf(whose));
}

export async function cacheFeatures(io: Place, whose: Whose, answer: CachedFeatures): Promise<void> {
  const entries = await readAll(io);
  entries.set(nameOf(whose), answer);
  const newest = [...entries].sort(([, a], [, b]) => b.atMs - a.atMs).slice(0, ENTRIES_MAX);
  await quietly(
    writePrivateFile(featureCachePath(io), `${JSON.stringify({ answers: Object.fromEntries(newest) })}\n`),
  );
}

/** After a switch was moved every answer is in doubt, whoever it was given to. */
export async function forgetFeatures(io: Place): Promise<void> {
  await quietly(rm(featureCachePath(io), { force: true }));
}

/** Undefined unless the whole of it is what the resolver may answer: half an answer proves nothing. */
export function readFeatures(value: unknown): Features | undefined {
  if (!isRecord(value) || !Object.values(value).every((state) => state === true || isState(state)))
    return undefined;
  return value as Features;
}

function isState(value: unknown): value is FeatureState {
  if (!isRecord(value) || typeof value['enabled'] !== 'boolean') return false;
  const { reason, blockedBy } = value;
  return (
    (reason === undefined || typeof reason === 'string') &&
    (blockedBy === undefined ||
      (Array.isArray(blockedBy) && blockedBy.every((key) => typeof key === 'string')))
  );
}

async function readAll(io: Place): Promise<Map<string, CachedFeatures>> {
  const entries = new Map<string, CachedFeatures>();
  try {
    const stored: unknown = JSON.parse(await readFile(featureCachePath(io), 'utf8'));
    const answers = isRecord(stored) && isRecord(stored['answers']) ? stored['answers'] : {};
    for (const [name, value] of Object.entries(answers)) {
      const answer = readAnswer(value);
      if (answer !== undefined) entries.set(name, answer);
    }
  } catch {
    // Not there yet, not readable, or cut off: an empty cache.
  }
  return entries;
}

function readAnswer(value: unknown): CachedFeatures | undefined {
  if (!isRecord(value)) return undefined;
  const { atMs, etag } = value;
  const features = readFeatures(value['features']);
  if (features === undefined || typeof atMs !== 'number') return undefined;
  return { features, atMs, ...(typeof etag === 'string' ? { etag } : {}) };
}

/** Keys and tokens are long and random, so that a plain hash tells nothing about them. */
function nameOf({ baseUrl, credential = '' }: Whose): string {
  return createHash('sha256').update(`${baseUrl}\n${credential}`).digest('hex');
}

async function quietly(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch {
    // A read-only or missing home: the next command asks again, that is all.
  }
}
