/**
 * What the checker judges beside dispatch itself: the ledger, the walls between teams, what is left running,
 * and how soon it is well again.
 */
import { createHash } from 'node:crypto';
import { executionsOf, frozenSpans, keyOf } from './executions.ts';
import { findings, type Violation } from './findings.ts';
import type { RunnerEntry } from './entries.ts';
import type { AuditRow, History } from './history.ts';

const NO_HASH = '0'.repeat(64);

/** RFC 8785 for what the ledger may hold: texts, whole numbers, truth values, lists and objects. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value as Record<string, unknown>).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

function hashOf({ chain, seq, previousHash, ...content }: Omit<AuditRow, 'hash'>): string {
  return createHash('sha256')
    .update(`audit.v1\n${chain}\n${seq}\n${previousHash}\n${canonical(content)}`)
    .digest('hex');
}

/**
 * Checks I8: every chain is whole up to its head, and each project that was made has its one entry, as every
 * entry has its project.
 */
export function ledgerWhole({ audit, heads, projects }: History): Violation[] {
  if (audit === undefined || heads === undefined) return [];
  const { found, of } = findings();
  const wrong = (about: string, message: string, evidence: unknown): void =>
    of('I8', about)(message, evidence);
  const ends = new Map<string, { seq: number; hash: string }>();
  for (const { hash, ...entry } of audit) {
    const before = ends.get(entry.chain) ?? { seq: 0, hash: NO_HASH };
    if (entry.seq !== before.seq + 1 || entry.previousHash !== before.hash)
      wrong(entry.chain, `entry ${entry.seq} does not follow entry ${before.seq}`, entry);
    if (hashOf(entry) !== hash)
      wrong(entry.chain, `entry ${entry.seq} does not have its hash`, { entry, hash });
    ends.set(entry.chain, { seq: entry.seq, hash });
  }
  for (const head of heads) {
    const end = ends.get(head.chain) ?? { seq: 0, hash: NO_HASH };
    if (end.seq !== head.seq || end.hash !== head.hash)
      wrong(head.chain, `ends at entry ${end.seq}, and its head says ${head.seq}`, { head, end });
  }
  const made = audit.filter(({ action }) => action === 'project.created').map(({ target }) => target);
  for (const { id } of projects) {
    const entries = made.filter((target) => target === id).length;
    if (entries !== 1) wrong(id, `was made, and the ledger says so ${entries} times`, { id });
  }
  return found;
}

/** Checks I10: nobody was granted, offered or told of the work of another team. */
export function teamsApart({ teamOf, items, leases, runners }: History): Violation[] {
  if (teamOf === undefined) return [];
  const pools = new Map(items.map(({ id, pool }) => [id, pool]));
  const found: Violation[] = [];
  const meets = (runnerId: string, work: string, how: string): void => {
    const pool = pools.get(work);
    if (pool === undefined || teamOf.get(runnerId) === pool) return;
    const message = `was ${how} runner ${runnerId} of another team`;
    found.push({ invariant: 'I10', about: work, message, evidence: { pool, team: teamOf.get(runnerId) } });
  };
  for (const { runnerId, work } of leases) meets(runnerId, work, 'granted to');
  for (const entries of runners.values()) {
    const runnerId = entries.find((entry) => entry.event === 'boot')?.runnerId ?? '';
    for (const entry of entries) if (entry.event === 'offered') meets(runnerId, entry.work, 'offered to');
  }
  return found;
}

/**
 * Checks I12: whatever goes on although its lease has ended is over soon, not counting the time in which it
 * was frozen.
 */
export function executionsEndWithLeases(history: History): Violation[] {
  const { leases, times, rig } = history;
  const ends = new Map(leases.map((lease) => [keyOf(lease), lease.endedAt]));
  const found: Violation[] = [];
  for (const [runner, entries] of history.runners) {
    // The offset is that between the two clocks of one machine.
    const [first] = entries;
    if (first === undefined) continue;
    const toMono = first.mono - first.wall;
    for (const execution of executionsOf(history).filter((one) => one.runner === runner)) {
      const endedAt = ends.get(keyOf(execution));
      if (endedAt === undefined || endedAt === null || execution.endedBy === 'nothing') continue;
      const from = Math.max(execution.from, endedAt + toMono);
      const frozen = frozenSpans(rig, runner).reduce(
        (sum, span) => sum + Math.max(0, Math.min(execution.to, span.to) - Math.max(from, span.from)),
        0,
      );
      const lateMs = execution.to - from - frozen;
      if (lateMs <= times.staleMs + times.toleranceMs) continue;
      const message = `went on for ${Math.round(lateMs)} ms after its lease had ended, at most ${times.staleMs} ms`;
      found.push({ invariant: 'I12', about: execution.work, message, evidence: { execution, endedAt } });
    }
  }
  return found;
}

const PUBLISHING = 3;

/** Tells whether the control plane was told, or a runner began, to change something outside. */
export function hasPublished({ phases = [], runners }: History, work: string): boolean {
  return (
    phases.some((row) => row.work === work && row.phase >= PUBLISHING) ||
    [...runners.values()].flat().some((entry) => isPublishing(entry) && entry.work === work)
  );
}

function isPublishing(entry: RunnerEntry): entry is Extract<RunnerEntry, { event: 'phase' }> {
  return entry.event === 'phase' && (entry.phase === 'publishing' || entry.phase === 'deploying');
}

/**
 * A build that published or deployed under one grant has no later grant: only a person may say so, and nobody
 * does here.
 */
export function publishedOnce({ phases = [], runners, leases }: History): Violation[] {
  const first = new Map<string, number>();
  const note = (work: string, epoch: number): void =>
    void first.set(work, Math.min(first.get(work) ?? Number.POSITIVE_INFINITY, epoch));
  for (const { work, epoch, phase } of phases) if (phase >= PUBLISHING) note(work, epoch);
  for (const entry of [...runners.values()].flat()) if (isPublishing(entry)) note(entry.work, entry.epoch);
  return [...first].flatMap(([work, epoch]) => {
    const later = leases.filter((lease) => lease.work === work && lease.epoch > epoch);
    if (later.length === 0) return [];
    const message = `published under epoch ${epoch} and was granted again`;
    return [{ invariant: 'once' as const, about: work, message, evidence: later }];
  });
}

/**
 * Whatever was killed: each report is metered once, days, statements and the ledger of credit are the sums of
 * what they are made of.
 */
export function moneyKept({ money = [] }: History): Violation[] {
  return money.map(({ table, row, problem }) => ({
    invariant: 'money' as const,
    about: `${table} ${row}`,
    message: problem,
    evidence: { table, row },
  }));
}

/** At any time, beside dispatch itself. */
export const KEPT = [ledgerWhole, teamsApart, executionsEndWithLeases, publishedOnce, moneyKept] as const;

/** Checks I11: all that was acknowledged has ended within its bound after everything was healed. */
export function recovered({ rig, items, leases, times }: History): Violation[] {
  const healed = rig.find((entry) => entry.event === 'healed');
  if (healed === undefined || times.recoverMs === undefined) return [];
  const boundMs = times.recoverMs;
  const last = Math.max(...leases.map(({ endedAt }) => endedAt ?? 0));
  const lateMs = last - healed.wall;
  if (lateMs <= boundMs) return [];
  const message = `the last lease ended ${Math.round(lateMs)} ms after everything was healed, at most ${boundMs} ms`;
  return [{ invariant: 'I11', about: 'all', message, evidence: { items: items.length } }];
}
