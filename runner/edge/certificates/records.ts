/**
 * Remembers the tries and failures of each name, and when the next one may be. It is on the disk before a try
 * begins, so that a daemon that is started again and again does not use up what an authority allows.
 */
import { readIfThere, writeDurably } from '../../disk/durable-file.ts';
import type { Suggestion } from '../acme/renewal.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Waits after the first, second… failure in a row. */
const WAITS_MS = [15 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS];
/** No authority asks for more; a later time was made by a clock that was wrong. */
const WAIT_MS_MAX = 7 * 24 * HOUR_MS;
/** Let's Encrypt blocks a name for an hour after five failures; people who ask are counted too. */
export const TRIES_MAX = 3;
const TRIES_IN_MS = HOUR_MS;

export interface NameRecord {
  /** Wall clock of the tries within the last hour. */
  triesMs: number[];
  /** Failures in a row. */
  failures: number;
  nextAtMs?: number;
  state?: 'waiting_dns' | 'failed';
  problem?: string;
  detail?: string;
  /** Suggestion of the authority for the certificate of this serial. */
  renewal?: { serial: string; askAgainAtMs: number } & Partial<Suggestion>;
}

export interface Failure {
  problem: string;
  detail: string;
  /** The authority asked for it. */
  retryAfterMs?: number;
}

export type Records = ReturnType<typeof openRecords>;

export function openRecords(path: string) {
  const records = read(path);
  let writing: Promise<void> = Promise.resolve();
  const recordOf = (name: string): NameRecord => {
    const kept = records.get(name) ?? { triesMs: [], failures: 0 };
    records.set(name, kept);
    return kept;
  };
  /** Writes go one after the other; each writes what is there when its turn comes. */
  const save = async (): Promise<void> => {
    writing = writing
      .catch(() => undefined)
      .then(async () => await writeDurably(path, JSON.stringify(Object.fromEntries(records))));
    await writing;
  };
  const change = async (name: string, to: (record: NameRecord) => NameRecord): Promise<void> => {
    records.set(name, to(recordOf(name)));
    await save();
  };
  return {
    get: (name: string): Readonly<NameRecord> => records.get(name) ?? { triesMs: [], failures: 0 },
    tried: async (name: string, nowMs: number) =>
      await change(name, (record) => ({ ...record, triesMs: [...recent(record, nowMs), nowMs] })),
    failed: async (name: string, nowMs: number, failure: Failure) =>
      await change(name, (record) => {
        const failures = record.failures + 1;
        const waitMs = WAITS_MS[Math.min(failures, WAITS_MS.length) - 1] ?? HOUR_MS;
        const { problem, detail, retryAfterMs = 0 } = failure;
        const nextAtMs = nowMs + Math.max(waitMs, Math.min(retryAfterMs, WAIT_MS_MAX));
        return { ...record, failures, state: 'failed', problem, detail, nextAtMs };
      }),
    /** Nothing was asked of the authority, so that this is no failure. */
    waits: async (name: string, nextAtMs: number, problem: string) =>
      await change(name, (record) => {
        const { triesMs, failures, renewal } = record;
        return { triesMs, failures, ...(renewal && { renewal }), state: 'waiting_dns', problem, nextAtMs };
      }),
    succeeded: async (name: string) => await change(name, ({ triesMs }) => ({ triesMs, failures: 0 })),
    suggested: async (name: string, renewal: NonNullable<NameRecord['renewal']>) =>
      await change(name, (record) => ({ ...record, renewal })),
    /** A person asked: the wait is over, the limit of an hour is not. */
    async askedFor(name: string): Promise<void> {
      await change(name, (record) => ({ ...record, nextAtMs: 0 }));
    },
    /**
     * Forgets other names, after their tries no longer count: a name that comes back has none of them anew.
     */
    async keepOnly(names: ReadonlySet<string>, nowMs: number): Promise<void> {
      const others = [...records].filter(([name]) => !names.has(name));
      const gone = others.flatMap(([name, record]) => (recent(record, nowMs).length === 0 ? [name] : []));
      for (const name of gone) records.delete(name);
      if (gone.length > 0) await save();
    },
  };
}

/** Wall clock before which no try is made. */
export function mayTryAtMs(record: Readonly<NameRecord>, nowMs: number): number {
  const tries = recent(record, nowMs);
  const oldest = tries.at(-TRIES_MAX);
  const limitMs = oldest === undefined ? 0 : oldest + TRIES_IN_MS;
  const { nextAtMs = 0 } = record;
  return Math.max(nextAtMs <= nowMs + WAIT_MS_MAX ? nextAtMs : 0, limitMs);
}

/** A clock that was set back must not block a name for years. */
function recent({ triesMs }: Readonly<NameRecord>, nowMs: number): number[] {
  return triesMs.filter((atMs) => atMs > nowMs - TRIES_IN_MS && atMs <= nowMs + TRIES_IN_MS);
}

function read(path: string): Map<string, NameRecord> {
  try {
    const kept = JSON.parse(readIfThere(path) ?? '{}') as Record<string, NameRecord>;
    return new Map(Object.entries(kept).filter(([, record]) => Array.isArray(record.triesMs)));
  } catch {
    return new Map(); // Written by nobody here: the certificates themselves are elsewhere.
  }
}
