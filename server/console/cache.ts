/**
 * This is the one cache of all pages. What is read is kept under its route and its input: a page that comes
 * back shows it at once and reads it again, and an act has everything read anew.
 */
import { useEffect, useRef } from 'preact/hooks';
import type { Operation } from '@svc/sdk';
import { client } from './api.ts';
import { lastGood, type LastGood } from './last-good.ts';
import type { CallSpec } from './spec.ts';
import { followPolled } from './live.ts';

export type Input = Readonly<Record<string, unknown>>;

interface Kept {
  readonly data: LastGood<unknown>;
  /** Parts of pages that show it. */
  shown: number;
}

/** So many are kept that nothing shows. */
const KEPT_MAX = 100;

const kept = new Map<string, Kept>();

export const keyOf = ({ method, path }: Operation, input: Input): string =>
  `${method} ${path} ${JSON.stringify(Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1)))}`;

function keep(key: string, read: () => Promise<unknown>): Kept {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = { data: lastGood(read), shown: 0 };
  kept.set(key, made);
  for (const [old, { data, shown }] of kept) {
    if (kept.size <= KEPT_MAX) break;
    if (shown > 0 || old === key) continue;
    data.end();
    kept.delete(old);
  }
  return made;
}

/** Returns what a call takes of what a place and an item say. */
export const taken = ({ operation: { path }, fields = [] }: CallSpec, given: Input): Input =>
  Object.fromEntries(
    Object.entries(given).filter(
      ([name]) => path.includes(`{${name}}`) || fields.some((field) => field.name === name),
    ),
  );

/** Returns what a call answers, now and, with `everyMs`, again and again while the tab is in view. */
export function useAnswer<T>(operation: Operation, input: Input, everyMs?: number): LastGood<T> {
  return useRead<T>(keyOf(operation, input), async () => await client.call<T>(operation, input), everyMs);
}

/** The same for what takes several calls; `key` names it. */
export function useRead<T>(key: string, read: () => Promise<T>, everyMs?: number): LastGood<T> {
  const { data } = keep(key, read);
  useEffect(() => {
    const entry = keep(key, read);
    entry.shown += 1;
    const end = everyMs === undefined ? undefined : followPolled(entry.data, everyMs);
    if (end === undefined) void entry.data.load();
    return () => {
      entry.shown -= 1;
      end?.();
    };
  }, [key]);
  return data as LastGood<T>;
}

/** Reads again whenever something else is no longer what it was. */
export function useReadAgain({ load }: LastGood<unknown>, when: unknown): void {
  const was = useRef(when);
  useEffect(() => {
    if (was.current !== when) void load();
    was.current = when;
  }, [when]);
}

/** Returns what the pages that are open have read under a key, for what is done there. */
export const dataOf = <T>(key: string): LastGood<T> | undefined =>
  kept.get(key)?.data as LastGood<T> | undefined;

/** Something was done: what is shown is read again, and the rest when it is shown. */
export function invalidate(): void {
  for (const [key, { data, shown }] of kept) {
    if (shown > 0) void data.load();
    else {
      data.end();
      kept.delete(key);
    }
  }
}
