/** What many schedules come to: how much was done, what was broken, and how long it took to recover, by the kind of fault. */
import type { Invariant } from './checker.ts';
import { seconds } from './scenario.ts';
import type { Verdict } from './scenario.ts';
import { quantile, recoveries } from './summary.ts';

export interface Tally {
  add(verdict: Verdict): void;
  clean(): boolean;
  lines(): readonly string[];
}

export function isClean({ violations, crashes, rest }: Verdict): boolean {
  return violations.length === 0 && crashes.length === 0 && rest.how === 'done';
}

export function createTally(): Tally {
  let schedules = 0;
  let broken = 0;
  let runs = 0;
  let leases = 0;
  let reports = 0;
  let crashes = 0;
  let tookMs = 0;
  const violations = new Map<Invariant, number>();
  const rests: number[] = [];
  const byRow = new Map<string, number[]>();
  const of = (...names: readonly Invariant[]): number =>
    names.reduce((sum, name) => sum + (violations.get(name) ?? 0), 0);
  return {
    add: (verdict) => {
      const { history, rest } = verdict;
      schedules += 1;
      if (!isClean(verdict)) broken += 1;
      runs += history.items.length;
      leases += history.leases.length;
      reports += history.reports.length;
      crashes += verdict.crashes.length;
      tookMs += verdict.tookMs;
      rests.push(rest.ms);
      for (const { invariant } of verdict.violations) violations.set(invariant, of(invariant) + 1);
      for (const { row, ms } of recoveries(history)) {
        if (ms !== undefined) byRow.set(row, [...(byRow.get(row) ?? []), ms]);
      }
    },
    clean: () => broken === 0,
    lines: () => [
      `${schedules} schedules, ${broken} broken, ${runs} runs, ${leases} leases, ${reports} accepted reports in ${seconds(tookMs)}`,
      `${of('I1', 'I13')} lost, ${of('I3', 'I9')} double-accepted, ${of('I4')} overlapping leases, ${[...violations.values()].reduce((a, b) => a + b, 0)} violations in all${[...violations].map(([name, n]) => `, ${name}: ${n}`).join('')}, ${crashes} crashes`,
      `at rest after the last fault was healed: ${figures(rests)}`,
      'from the fault until a run that was begun after it was reported, by the kind of fault:',
      ...[...byRow]
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([row, all]) => `  ${row.padEnd(16)} ${String(all.length).padStart(4)} times, ${figures(all)}`),
    ],
  };
}

function figures(all: readonly number[]): string {
  const sorted = all.toSorted((a, b) => a - b);
  return `p50 ${seconds(quantile(sorted, 0.5))}, p95 ${seconds(quantile(sorted, 0.95))}, longest ${seconds(sorted.at(-1) ?? 0)}`;
}
