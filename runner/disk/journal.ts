/**
 * Records what this daemon did with each grant of work for a later process: one JSON line an event, synced
 * before the step that it announces.
 *
 *   offered → accepted → started → (phase …) → ended → reported
 *        \________\_________\________\___→ dropped   (declined, superseded, lease lost, or the daemon died)
 *
 * The journal owns its file; writes go through one queue, so lines are whole and in order. A grant that was
 * ever started is never started again. The last line of a killed process may be torn: it is left out, since
 * the step that it announced was not taken.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { readIfThere, writeDurably } from './durable-file.ts';
import type { BuildPhase } from '../control-plane/wire.ts';
import type { ProcessMark } from './lock.ts';
import { refKey, type WorkRef } from '../control-plane/work-ref.ts';

export const JOURNAL_EVENTS = [
  'offered',
  'accepted',
  'started',
  'phase',
  'ended',
  'reported',
  'dropped',
] as const;
export type JournalEvent = (typeof JOURNAL_EVENTS)[number];

export interface JournalEntry extends WorkRef {
  event: JournalEvent;
  /** RFC 3339 time of this machine's clock, for people. */
  at: string;
  /** Set in `ended` and `dropped`. */
  reason?: string;
  reportId?: string;
  /** Set in `phase`: the phase of a build that is entered next. */
  phase?: BuildPhase;
  /** The process that wrote it; absent from daemons that did not say. */
  process?: ProcessMark;
}

export type JournalDetail = Pick<JournalEntry, 'reason' | 'reportId' | 'phase'>;

/** So many closed grants are remembered, so that a stale repetition of an old offer is recognised. */
const CLOSED_MAX = 1_000;
/** The file is rewritten when it has grown by so many lines. */
const COMPACT_LINES = 4_000;

export interface JournalOptions {
  path: string;
  /** The process that writes. */
  process?: ProcessMark | undefined;
  now?: () => Date;
}

export async function openJournal(options: JournalOptions) {
  const now = options.now ?? (() => new Date());
  const latest = new Map<string, JournalEntry>();
  for (const entry of readEntries(options.path)) note(latest, entry);
  let lines = 0;
  /** Length of the file's whole lines. */
  let bytes = 0;
  let file: FileHandle;
  let queue: Promise<unknown> = Promise.resolve();

  const compact = async (): Promise<FileHandle> => {
    forgetOldest(latest);
    const whole = [...latest.values()].map(lineOf).join('');
    await writeDurably(options.path, whole);
    lines = 0;
    bytes = Buffer.byteLength(whole);
    return await open(options.path, 'a', 0o600);
  };
  file = await compact();

  const append = async (entry: JournalEntry): Promise<void> => {
    if (lines >= COMPACT_LINES) {
      await file.close();
      file = await compact();
    }
    const line = lineOf(entry);
    try {
      await file.appendFile(line);
      await file.datasync();
    } catch (error) {
      // A partial line is taken out again: otherwise the next line would be appended to it and be unreadable.
      await file.truncate(bytes);
      throw error;
    }
    lines += 1;
    bytes += Buffer.byteLength(line);
    note(latest, entry);
  };

  return {
    /** Resolves when the line is on the disk. */
    async record(event: JournalEvent, ref: WorkRef, detail: JournalDetail = {}) {
      const entry: JournalEntry = {
        id: ref.id,
        epoch: ref.epoch,
        event,
        at: now().toISOString(),
        ...detail,
        ...(options.process !== undefined && { process: options.process }),
      };
      const written = queue.then(async () => await append(entry));
      // One failed write (a full disk) must not fail all later ones.
      queue = written.catch(() => undefined);
      await written;
    },
    last: (ref: WorkRef) => latest.get(refKey(ref))?.event,
    /** Grants whose last event is neither `reported` nor `dropped`, oldest first. */
    open: () => [...latest.values()].filter((entry) => !isClosed(entry)),
    async close() {
      await queue;
      await file.close();
    },
  };
}

export type Journal = Awaited<ReturnType<typeof openJournal>>;

/** Counts the grants that are not closed, for other processes; the file is left as it is. */
export function openGrants(path: string): number {
  const latest = new Map<string, JournalEntry>();
  for (const entry of readEntries(path)) note(latest, entry);
  return [...latest.values()].filter((entry) => !isClosed(entry)).length;
}

function lineOf(entry: JournalEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

function isClosed(entry: JournalEntry): boolean {
  return entry.event === 'reported' || entry.event === 'dropped';
}

/** Keeps the map in order of the latest event. */
function note(latest: Map<string, JournalEntry>, entry: JournalEntry): void {
  const key = refKey(entry);
  latest.delete(key);
  latest.set(key, entry);
}

function forgetOldest(latest: Map<string, JournalEntry>): void {
  const closed = [...latest].filter(([, entry]) => isClosed(entry));
  for (const [key] of closed.slice(0, Math.max(0, closed.length - CLOSED_MAX))) latest.delete(key);
}

function readEntries(path: string): JournalEntry[] {
  return (readIfThere(path) ?? '').split('\n').flatMap((line) => {
    const entry = parseEntry(line);
    return entry === undefined ? [] : [entry];
  });
}

function parseEntry(line: string): JournalEntry | undefined {
  try {
    const entry = JSON.parse(line) as Partial<JournalEntry> | null;
    const whole =
      typeof entry?.id === 'string' &&
      typeof entry.epoch === 'number' &&
      JOURNAL_EVENTS.some((event) => event === entry.event);
    return whole ? (entry as JournalEntry) : undefined;
  } catch {
    // The line is empty or torn: see the first comment.
    return undefined;
  }
}
