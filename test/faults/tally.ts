/**
 * Sums up what many schedules come to: how much was done, what was broken, and how long it took to recover,
 * by the kind of fault.
 */
import type { Invariant } from './findings.ts';
import type { SubmitKind } from './entries.ts';
import { seconds, type Verdict } from './scenario.ts';
import { dispatches, quantile, recoveries } from './summary.ts';

export type Tally = ReturnType<typeof createTally>;

/** One in a hundred is refused on purpose. With fewer the promises were hardly tried. */
const ACKNOWLEDGED_SHARE = 0.9;

export function isClean(verdict: Verdict | Error): boolean {
  if (verdict instanceof Error) return false;
  const { violations, crashes, rest, history, runs } = verdict;
  const tried = acknowledged(history.submits, 'run') >= ACKNOWLEDGED_SHARE * runs;
  return violations.length === 0 && crashes.length === 0 && rest.how === 'done' && tried;
}

/** A second of work took so many seconds: programs waited for a processor most of the time. */
const STARVED = 3;

/**
 * Nothing was done wrongly, it only took too long or was cut off, while programs waited for a processor
 * longer than they ran. Then its time proves nothing.
 */
export function isStarved(verdict: Verdict | Error): boolean {
  if (verdict instanceof Error) return false;
  const { violations, crashes, slowness } = verdict;
  return (
    slowness >= STARVED &&
    crashes.length === 0 &&
    violations.every(({ invariant, message }) => invariant === 'I11' || message.startsWith('has not ended'))
  );
}

export function createTally() {
  const counts = new Map<string, number>();
  const add = (what: string, n: number): void => void counts.set(what, of(what) + n);
  const of = (...names: readonly string[]): number =>
    names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
  const violations = new Map<Invariant, number>();
  const rests: number[] = [];
  const dispatched: Record<'during' | 'apart', number[]> = { during: [], apart: [] };
  /**
   * Recoveries by the kind of fault; undefined: nothing that was begun after it was reported before the
   * schedule ended.
   */
  const byRow = new Map<string, Array<number | undefined>>();

  const addJudged = ({ history, rest, crashes, violations: found }: Verdict): void => {
    add('acknowledged runs', acknowledged(history.submits, 'run'));
    add('acknowledged builds', acknowledged(history.submits, 'build'));
    add('acknowledged projects', acknowledged(history.submits, 'project'));
    add('attempts', history.submits.filter(({ event }) => event === 'intent').length);
    add('leases', history.leases.length);
    add('reports', history.reports.length);
    add('crashes', crashes.length);
    rests.push(rest.ms);
    const { during, apart } = dispatches(history);
    dispatched.during.push(...during);
    dispatched.apart.push(...apart);
    for (const { invariant } of found) violations.set(invariant, (violations.get(invariant) ?? 0) + 1);
    for (const { row, done, ms } of recoveries(history)) {
      if (done) byRow.set(row, [...(byRow.get(row) ?? []), ms]);
      add(done ? 'faults' : 'left out', 1);
    }
  };
  const broken = (...names: readonly Invariant[]): number =>
    names.reduce((sum, name) => sum + (violations.get(name) ?? 0), 0);
  return {
    /** Adds a verdict. With an error it could not be judged, which is broken too. */
    add: (verdict: Verdict | Error): void => {
      add('schedules', 1);
      if (!isClean(verdict)) add('broken', 1);
      if (verdict instanceof Error) add('not judged', 1);
      else addJudged(verdict);
    },
    /** One was late on a starved machine, and is played again. */
    starved: () => add('starved', 1),
    clean: () => of('broken') === 0,
    lines: (): readonly string[] => [
      `${of('schedules')} schedules, ${of('broken')} broken (${of('not judged')} could not be judged); ${of('starved')} times one was late on a starved machine and was played again`,
      `${of('acknowledged runs', 'acknowledged builds', 'acknowledged projects')} submissions acknowledged in ${of('attempts')} attempts: ${of('acknowledged runs')} runs, ${of('acknowledged builds')} builds, ${of('acknowledged projects')} projects; ${of('leases')} leases, ${of('reports')} accepted reports`,
      `${broken('I1', 'I13')} lost, ${broken('I3', 'I9')} double-accepted, ${broken('I4')} overlapping leases, ${broken(...violations.keys())} violations in all${[...violations].map(([name, n]) => `, ${name}: ${n}`).join('')}, ${of('crashes')} crashes`,
      `at rest after the last fault was healed: ${figures(rests)}`,
      `from the acknowledgement of a run until it was offered: ${figures(dispatched.during)} while a fault lasted, else ${figures(dispatched.apart)}`,
      `${of('faults')} faults done, ${of('left out')} left out because their target was down; from the fault until a run that was begun after it was reported:`,
      `  ${'all'.padEnd(16)} ${rowLine([...byRow.values()].flat())}`,
      ...[...byRow]
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([row, all]) => `  ${row.padEnd(16)} ${rowLine(all)}`),
    ],
  };
}

/** Submissions of a kind that were acknowledged at least once. */
function acknowledged(submits: Verdict['history']['submits'], kind: SubmitKind): number {
  const ok = submits.filter(
    (entry) => entry.event === 'outcome' && entry.outcome === 'ok' && entry.kind === kind,
  );
  return new Set(ok.map(({ key }) => key)).size;
}

function rowLine(all: ReadonlyArray<number | undefined>): string {
  const measured = all.filter((ms) => ms !== undefined);
  const rest = all.length - measured.length;
  return `${String(all.length).padStart(4)} times, ${figures(measured)}${rest === 0 ? '' : `; after ${rest} nothing was begun`}`;
}

function figures(all: readonly number[]): string {
  const sorted = all.toSorted((a, b) => a - b);
  return `p50 ${seconds(quantile(sorted, 0.5))}, p99 ${seconds(quantile(sorted, 0.99))}, longest ${seconds(sorted.at(-1) ?? 0)}`;
}
