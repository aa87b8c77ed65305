/**
 * This is what each simulator really executed and when, reconstructed from its journal and from what the rig
 * did to its process.
 */
import type { RigEntry, RunnerEntry } from './entries.ts';
import type { History } from './history.ts';
import type { Stamp } from './journal.ts';

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Execution extends Span {
  readonly runner: string;
  readonly work: string;
  readonly epoch: number;
  /** It ended by itself, with this code. */
  readonly exitCode: number | undefined;
  readonly endedBy: 'stop' | 'kill' | 'death' | 'nothing';
}

type Open = Pick<Execution, 'work' | 'epoch' | 'from'>;

/** Returns the executions, with all times on the monotonic clock, in milliseconds. */
export function executionsOf(history: History): Execution[] {
  return [...history.runners].flatMap(([runner, entries]) =>
    executionsOfOne(runner, entries, deathsOf(history.rig, runner)),
  );
}

function executionsOfOne(
  runner: string,
  entries: ReadonlyArray<RunnerEntry & Stamp>,
  deaths: readonly number[],
): Execution[] {
  const open = new Map<string, Open>();
  const done: Execution[] = [];
  const close = (key: string, end: Pick<Execution, 'to' | 'endedBy'> & { exitCode?: number }): void => {
    const found = open.get(key);
    if (found === undefined) return;
    open.delete(key);
    done.push({ runner, exitCode: undefined, ...found, ...end });
  };
  /** What the process had under way ended with it; the rig saw its death after it happened. */
  const closeAll = (before: number): void => {
    for (const [key, { from }] of open) {
      const death = deaths.find((mono) => mono >= from && mono <= before);
      close(key, { to: death ?? before, endedBy: death === undefined ? 'nothing' : 'death' });
    }
  };
  for (const entry of entries) {
    if (entry.event === 'boot') closeAll(entry.mono);
    else if (entry.event === 'start') {
      const key = keyOf(entry);
      // A second start of the same grant in one process is kept as an execution of its own: it overlaps the
      // first one.
      const unique = open.has(key) ? `${key} again ${entry.mono}` : key;
      open.set(unique, { work: entry.work, epoch: entry.epoch, from: entry.mono });
    } else if (entry.event === 'stop')
      close(keyOf(entry), { to: entry.mono, endedBy: 'stop', exitCode: entry.exitCode });
    else if (entry.event === 'kill') close(keyOf(entry), { to: entry.mono, endedBy: 'kill' });
  }
  closeAll(Number.POSITIVE_INFINITY);
  return done;
}

export function keyOf({ work, epoch }: { readonly work: string; readonly epoch: number }): string {
  return `${work} ${epoch}`;
}

function deathsOf(rig: ReadonlyArray<RigEntry & Stamp>, process: string): number[] {
  return rig.filter((entry) => entry.event === 'dead' && entry.process === process).map(({ mono }) => mono);
}

/** Spans in which a process was frozen. One that was killed while frozen has no end of it. */
export function frozenSpans(rig: ReadonlyArray<RigEntry & Stamp>, process: string): Span[] {
  const spans: Span[] = [];
  let from: number | undefined;
  for (const entry of rig) {
    if (!('process' in entry) || entry.process !== process) continue;
    if (entry.event === 'frozen') from ??= entry.mono;
    else if (from !== undefined) {
      spans.push({ from, to: entry.mono });
      from = undefined;
    }
  }
  if (from !== undefined) spans.push({ from, to: Number.POSITIVE_INFINITY });
  return spans;
}

/** Returns how long both went on at once while the older one was not frozen. */
export function liveOverlapMs(older: Span, newer: Span, frozen: readonly Span[]): number {
  const from = Math.max(older.from, newer.from);
  const to = Math.min(older.to, newer.to);
  if (to <= from) return 0;
  const still = frozen.reduce(
    (sum, span) => sum + Math.max(0, Math.min(to, span.to) - Math.max(from, span.from)),
    0,
  );
  return to - from - still;
}
