/**
 * Keeps processor times of test files, by their paths from the root: those of this run, and what is known of
 * the runs before.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = new URL('../..', import.meta.url).pathname;
const KNOWN = join(root, 'node_modules/.cache/svc/test-times.json');

export type Times = ReadonlyMap<string, number>;

export function knownTimes(): Times {
  if (!existsSync(KNOWN)) return new Map();
  return new Map(Object.entries(JSON.parse(readFileSync(KNOWN, 'utf8')) as Record<string, number>));
}

/** Returns the seconds of each file that has written a line. */
export function timesOf(file: string): Times {
  const times = new Map<string, number>();
  if (!existsSync(file)) return times;
  for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
    const { path, seconds } = JSON.parse(line) as { path: string; seconds: number };
    const place = relative(root, path);
    times.set(place, (times.get(place) ?? 0) + seconds);
  }
  return times;
}

export function keepTimes(times: Times): void {
  mkdirSync(dirname(KNOWN), { recursive: true });
  writeFileSync(KNOWN, JSON.stringify(Object.fromEntries([...knownTimes(), ...times])));
}
