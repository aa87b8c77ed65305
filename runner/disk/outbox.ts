/**
 * This file keeps reports without a definite answer, in one file each. A report is on the disk before it is
 * sent for the first time and before the run's slot is given to other work, and stays there until the control
 * plane has accepted or refused it, across restarts of the daemon.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { monotonicMs, wallMs } from '../platform/clock.ts';
import { removeDurably, writeDurably } from './durable-file.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { isWorkRef, refKey, type WorkRef } from '../control-plane/work-ref.ts';
import type { ReportRequest, WorkKind } from '../control-plane/wire.ts';

export interface OutboxEntry {
  /** Older versions wrote runs only, without this field. */
  kind?: WorkKind;
  report: Omit<ReportRequest, 'waitedMs'>;
  /**
   * The time of `put`, on both clocks; the monotonic one is valid as long as the machine has not been
   * restarted.
   */
  putAtMs: number;
  putMonotonicMs: number;
  machineBoot: string;
}

export function newReportId(): string {
  return randomUUID();
}

/**
 * Time that a report has waited: by the monotonic clock within one start of the machine, else by the wall
 * clock, never negative.
 */
export function waitedMs(entry: OutboxEntry, machineBoot: string): number {
  const waited =
    entry.machineBoot === machineBoot ? monotonicMs() - entry.putMonotonicMs : wallMs() - entry.putAtMs;
  return Math.max(0, Math.round(waited));
}

/** Reads the id of this start of the machine; the monotonic clock of another start means nothing. */
export function readMachineBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // On other systems than Linux a fresh id makes every older entry fall back to the wall clock.
    return randomUUID();
  }
}

export interface OutboxOptions {
  folder: string;
  machineBoot: string;
  log: Log;
}

export async function openOutbox(options: OutboxOptions) {
  const { folder, machineBoot } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const entries = new Map<string, OutboxEntry>();
  for (const entry of await readEntries(folder, options.log)) entries.set(refKey(entry.report), entry);
  return {
    /** Resolves when the report is on the disk. */
    async put(report: Omit<ReportRequest, 'waitedMs'>, kind: WorkKind = 'run') {
      const entry: OutboxEntry = {
        kind,
        report,
        putAtMs: wallMs(),
        putMonotonicMs: monotonicMs(),
        machineBoot,
      };
      await writeDurably(join(folder, `${refKey(report)}.json`), JSON.stringify(entry));
      entries.set(refKey(report), entry);
      return entry;
    },
    async remove(ref: WorkRef) {
      await removeDurably(join(folder, `${refKey(ref)}.json`));
      entries.delete(refKey(ref));
    },
    /** The reports found at the start and those put since, oldest first. */
    entries: () => [...entries.values()],
    get depth() {
      return entries.size;
    },
  };
}

export type Outbox = Awaited<ReturnType<typeof openOutbox>>;

async function readEntries(folder: string, log: Log): Promise<OutboxEntry[]> {
  const found: OutboxEntry[] = [];
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.json')) continue;
    const path = join(folder, name);
    try {
      const entry = JSON.parse(await readFile(path, 'utf8')) as OutboxEntry;
      if (!isWorkRef(entry.report)) throw new RangeError('it names no work');
      found.push(entry);
    } catch (error) {
      // The file is kept for a person; it must not stop the others.
      log.error({ file: path, problem: errorText(error) }, 'a report in the outbox is unreadable, set aside');
      await rename(path, `${path}.unreadable`);
    }
  }
  return found.sort((a, b) => a.putAtMs - b.putAtMs);
}
