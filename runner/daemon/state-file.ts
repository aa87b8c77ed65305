/**
 * Writes the daemon's state for people and tools on this machine: a file, because the daemon listens on no
 * port. It is replaced as a whole, a few times a minute.
 */
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { pause } from '../platform/clock.ts';
import { isMissing } from '../platform/errors.ts';
import type { Intervals } from '../control-plane/intervals.ts';
import type { Away } from '../control-plane/presence.ts';
import type { Problem } from './problems.ts';
import type { WorkPhase } from '../work/run-work.ts';
import type { VersionSupport } from '../control-plane/version-policy.ts';

export interface DaemonState {
  version: string;
  pid: number;
  bootId: string;
  runnerId: string;
  baseUrl: string;
  executor: string;
  startedAt: string;
  writtenAt: string;
  /** A heartbeat was last answered at this time. */
  lastContactAt?: string;
  /** Absent while the control plane serves runners. */
  away?: Away;
  /** Added to this machine's clock when signing. */
  clockOffsetMs: number;
  slots: { total: number; free: number };
  /** Absent when it takes no builds. */
  buildSlots?: { total: number; free: number };
  /** The intervals that the control plane sets. */
  intervals: Intervals;
  versionSupport: VersionSupport;
  draining: boolean;
  paused: boolean;
  flagged: boolean;
  notReady: string[];
  runs: { id: string; epoch: number; phase: WorkPhase; since: string }[];
  /** Leases that heartbeats name: work, and results under way. */
  leases: number;
  /** Number of grants in the journal that are not closed. */
  journalOpen: number;
  /** Number of reports without a definite answer. */
  outbox: number;
  /** Bytes of output on this disk that are not delivered yet. */
  spoolBytes: number;
  /** Free disk at the data folder, in MiB. */
  freeMb: number;
  /** Warnings and errors, oldest first. */
  lastProblems: readonly Problem[];
}

/** Changes come in bursts when many short runs are done; nobody reads the file faster. */
const WRITE_PAUSE_MS = 200;

/**
 * Writes one state at a time, a few times a second at most. Resolves when a state not older than the call is
 * written.
 */
export function createStateWriter(path: string, snapshot: () => Promise<DaemonState>): () => Promise<void> {
  let next: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();
  return async () => {
    next ??= last.then(async () => {
      next = undefined;
      const written = writeState(path, await snapshot());
      last = written.catch(() => undefined).then(async () => await pause(WRITE_PAUSE_MS));
      await written;
    });
    await next;
  };
}

/** It is not synced: after a crash it is worthless anyway. */
async function writeState(path: string, state: DaemonState): Promise<void> {
  await writeFile(`${path}.tmp`, `${JSON.stringify(state)}\n`, { mode: 0o600 });
  await rename(`${path}.tmp`, path);
}

export function readState(path: string): DaemonState | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as DaemonState;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
