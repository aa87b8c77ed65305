/**
 * Ships what nginx logs, by environment: at most so many lines in ten seconds, and counters of all of them.
 *
 * A shipment is named by a number. Where it ends is on the disk before it is handed out, so that a later
 * process makes the same one of the same bytes under the same number; what was confirmed never comes again.
 */
import { join } from 'node:path';
import type { Clock } from '@svc/proto/process/clock.ts';
import { readIfThere, writeDurably } from '../../disk/durable-file.ts';
import type { Site } from '../site.ts';
import {
  readAccess,
  readError,
  type AccessLine,
  type CommonLine,
  type ErrorLine,
  type Read,
} from './line.ts';
import { countMinutes, type Minute, type OpenMinutes } from './minutes.ts';
import { KINDS, FILES, isOverfull, rotateLogs, type Ends, type LogKind } from './rotate.ts';
import { tail } from './tail.ts';

const READ_BYTES_MAX = 16 * 1_048_576;
export const LINES_MAX = 200;
const WINDOW_MS = 10_000;

export type { LogKind } from './rotate.ts';

export interface LogBatch {
  environmentId: string;
  kind: LogKind;
  lines: Array<AccessLine | CommonLine | ErrorLine>;
  /** Lines that were left out, because they were too many or cannot be read. */
  dropped: number;
  /** Minutes that have grown; empty for errors. */
  minutes: Minute[];
}

export interface LogShipment {
  seq: number;
  batches: LogBatch[];
  /** There is more to take at once. */
  hasMore: boolean;
}

export interface EdgeLogs {
  /** Takes what is new. Until it is confirmed the same shipment comes again. */
  take(): Promise<LogShipment | undefined>;
  confirm(seq: number): Promise<void>;
  /** Has nginx begin new files where the present ones are large, also while nobody takes their lines. */
  rotate(): Promise<void>;
}

export interface EdgeLogsOptions {
  /** The folder of nginx. */
  dir: string;
  sites: () => readonly Site[];
  /** Has nginx write to new files. */
  reopen: () => void;
  clock: Clock;
  /** Size at which a file is rotated. */
  fileBytesMax?: number;
}

interface Journal {
  seq: number;
  ends: Ends;
  minutes: OpenMinutes;
  /** The shipment that was handed out and is not confirmed. */
  taken?: Ends;
}

export async function openEdgeLogs(options: EdgeLogsOptions): Promise<EdgeLogs> {
  const path = join(options.dir, '..', 'logs.json');
  const dir = join(options.dir, 'logs');
  let journal = parsed(readIfThere(path), options.clock);
  let pending: { shipment: LogShipment; next: Journal } | undefined;
  const limit = createLimit(options.clock);
  const save = async (next: Journal) => {
    await writeDurably(path, JSON.stringify(next));
    journal = next;
  };
  /**
   * Lines that were taken end at a place in a file, which stays where it is until they are confirmed. They
   * are given up where files would fill the disk meanwhile.
   */
  const rotate = async (): Promise<void> => {
    const { seq, ends, minutes, taken } = journal;
    if (taken !== undefined && (await isOverfull({ ...options, dir }))) {
      await save({ seq: seq + 1, ends: { ...ends, ...taken }, minutes });
      pending = undefined;
    }
    if (journal.taken === undefined)
      journal = { ...journal, ends: await rotateLogs({ ...options, dir }, journal.ends) };
  };
  const take = async (): Promise<LogShipment | undefined> => {
    if (pending !== undefined) return pending.shipment;
    await rotate();
    const { taken } = journal;
    const collected = collect({ minutes: journal.minutes, limit, sites: options.sites() });
    const ends = { ...journal.ends };
    let hasMore = false;
    for (const kind of KINDS) {
      if (taken !== undefined && taken[kind] === undefined) continue;
      const [from, to, onLine] = [journal.ends[kind], taken?.[kind], collected[kind]];
      const tailed = await tail({ dir, base: FILES[kind], from, to, onLine, bytesMax: READ_BYTES_MAX });
      if (tailed.position !== undefined) ends[kind] = tailed.position;
      hasMore ||= tailed.hasMore;
    }
    const batches = collected.batches();
    if (batches.length === 0) {
      const { seq, minutes } = journal;
      journal = { seq, minutes, ends };
      return undefined;
    }
    await save({ ...journal, taken: ends });
    const seq = journal.seq + 1;
    pending = { shipment: { seq, batches, hasMore }, next: { seq, ends, minutes: collected.open() } };
    return pending.shipment;
  };
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return await done;
  };
  return {
    take: async () => await inTurn(take),
    rotate: async () => await inTurn(rotate),
    confirm: async (seq) =>
      await inTurn(async () => {
        if (pending?.shipment.seq !== seq) return;
        await save(pending.next);
        pending = undefined;
      }),
  };
}

interface Collecting {
  minutes: OpenMinutes;
  limit: Limit;
  sites: readonly Site[];
}

function collect({ minutes: open, limit, sites }: Collecting) {
  const owners = new Map(
    sites.flatMap(({ environmentId, names }) => names.map(({ name }) => [name, environmentId] as const)),
  );
  const minutes = countMinutes(open);
  const batches = new Map<string, LogBatch>();
  const add = (kind: LogKind, read: Read<AccessLine | ErrorLine>): void => {
    const { environmentId, line } = read;
    const key = `${kind} ${environmentId}`;
    const batch = batches.get(key) ?? { environmentId, kind, lines: [], dropped: 0, minutes: [] };
    batches.set(key, batch);
    if (line !== undefined && limit.allows(key)) batch.lines.push(line);
    else batch.dropped += 1;
  };
  return {
    access: (bytes: Buffer) => {
      const read = readAccess(bytes);
      if (read === undefined) return;
      if (read.line !== undefined) minutes.add(read.environmentId, read.line);
      add('access', read);
    },
    error: (bytes: Buffer) => {
      const read = readError(bytes, (name) => owners.get(name));
      if (read !== undefined) add('error', read);
    },
    batches: (): LogBatch[] =>
      [...batches.values()].map((batch) =>
        batch.kind === 'access' ? { ...batch, minutes: minutes.grown(batch.environmentId) } : batch,
      ),
    open: minutes.open,
  };
}

type Limit = ReturnType<typeof createLimit>;

/** Lets so many lines of an environment and kind through in ten seconds, however often they are taken. */
function createLimit(clock: Clock) {
  const counts = new Map<string, number>();
  let startMs = -Infinity;
  return {
    allows(key: string): boolean {
      if (clock.monotonicMs() - startMs >= WINDOW_MS) {
        counts.clear();
        startMs = clock.monotonicMs();
      }
      const count = counts.get(key) ?? 0;
      counts.set(key, count + 1);
      return count < LINES_MAX;
    },
  };
}

/** Numbers of a journal that was lost are not given again: there is at most one shipment a second. */
function parsed(text: string | undefined, clock: Clock): Journal {
  const fresh: Journal = { seq: Math.floor(clock.now().getTime() / 1_000), ends: {}, minutes: {} };
  try {
    const journal = JSON.parse(text ?? '{}') as Partial<Journal>;
    return typeof journal.seq === 'number' ? { ...fresh, ...journal } : fresh;
  } catch {
    return fresh; // Written by nobody here: logs are read from their present file.
  }
}
