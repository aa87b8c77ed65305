/**
 * Judges a history: which of the promises of dispatch was broken, with ids and evidence. It reads journals
 * and rows only and knows nothing of how the product works. The names I1 to I13 are those of the list of
 * invariants that the faults were planned against.
 */
import type { RunnerEntry, SubmitEntry } from './entries.ts';
import { hasPublished, KEPT, recovered } from './checks.ts';
import { executionsOf, frozenSpans, keyOf, liveOverlapMs, type Execution } from './executions.ts';
import { findings, type Invariant, type Violation } from './findings.ts';
import type { EventRow, History, ItemRow, LeaseRow, OutputRow, ReportRow } from './history.ts';
import type { Stamp } from './journal.ts';

type Sent = Extract<RunnerEntry, { event: 'report-sent' }> & Stamp & { readonly runner: string };
type Answered = Extract<RunnerEntry, { event: 'report-answer' }> & Stamp & { readonly runner: string };
type Stored = Extract<RunnerEntry, { event: 'logs' }> & Stamp & { readonly runner: string };

/** The history, ready to be looked things up in. */
interface Facts {
  readonly history: History;
  readonly items: ReadonlyMap<string, ItemRow>;
  readonly leases: ReadonlyMap<string, readonly LeaseRow[]>;
  readonly reports: ReadonlyMap<string, readonly ReportRow[]>;
  readonly events: ReadonlyMap<string, readonly EventRow[]>;
  readonly outputs: ReadonlyMap<string, readonly OutputRow[]>;
  readonly executions: ReadonlyMap<string, readonly Execution[]>;
  readonly sent: ReadonlyMap<string, readonly Sent[]>;
  readonly answered: ReadonlyMap<string, readonly Answered[]>;
  readonly stored: readonly Stored[];
  /** Time at which the last heartbeat that was answered `ok` had been sent, by work and epoch. */
  readonly renewedAt: ReadonlyMap<string, number>;
  /** Runner ids by the name of the simulator. */
  readonly runnerIds: ReadonlyMap<string, string>;
}

const REPORTED = ['succeeded', 'failed', 'cancelled'];
const FINAL = [...REPORTED, 'dead'];

/**
 * `atRest` is false where the end of everything was not waited for; then what must hold at any time is
 * judged.
 */
export function check(history: History, { atRest = true } = {}): Violation[] {
  const facts = factsOf(history);
  return [
    ...history.items.flatMap((item) => [
      ...(atRest ? ended(item) : []),
      ...executedBeforeSuccess(facts, item),
      ...oneReport(facts, item),
      ...leasesDisjoint(facts, item),
      ...executionsDisjoint(facts, item),
      ...epochsRise(facts, item),
      ...noStaleReport(facts, item),
    ]),
    ...noStaleHeartbeat(facts),
    ...outputWhole(facts),
    ...submissionsKept(facts),
    ...reportsKept(facts),
    ...KEPT.flatMap((kept) => kept(history)),
    ...(atRest ? recovered(history) : []),
  ];
}

/** Checks I1: after everything healed and had time, no work is left lying. */
function ended(item: ItemRow): Violation[] {
  if (FINAL.includes(item.state)) return [];
  return [{ invariant: 'I1', about: item.id, message: `has not ended: it is ${item.state}`, evidence: item }];
}

/** Checks I2: nothing succeeded that nobody executed. */
function executedBeforeSuccess(facts: Facts, item: ItemRow): Violation[] {
  if (item.state !== 'succeeded') return [];
  const executions = facts.executions.get(item.id) ?? [];
  const [report] = facts.reports.get(item.id) ?? [];
  const done = executions.some(
    ({ epoch, exitCode }) => exitCode === 0 && (report === undefined || epoch === report.epoch),
  );
  if (done) return [];
  const message = 'succeeded, and no runner executed it to the end';
  return [{ invariant: 'I2', about: item.id, message, evidence: { item, report, executions } }];
}

/**
 * Checks I3: there is one accepted report, told to one runner, with one event; a run that was given up has
 * none.
 */
function oneReport(facts: Facts, item: ItemRow): Violation[] {
  const { found, of } = findings();
  const wrong = of('I3', item.id);
  const reports = facts.reports.get(item.id) ?? [];
  const events = facts.events.get(item.id) ?? [];
  const accepted = (facts.answered.get(item.id) ?? []).filter(
    ({ answer }) => answer === 'accepted' || answer === 'repeated',
  );
  const reported = REPORTED.includes(item.state);
  // A build whose runner was lost after it had published ends without a report: a person decides.
  const undecided = item.state === 'failed' && reports.length === 0 && hasPublished(facts.history, item.id);
  if (reported && reports.length !== 1 && !undecided)
    wrong(`ended as ${item.state} with ${reports.length} accepted reports`, { item, reports, accepted });
  if (!reported && reports.length > 0)
    wrong(`is ${item.state} and has an accepted report`, { item, reports, accepted });
  for (const report of reports) {
    if (reported && report.outcome !== item.state)
      wrong(`is ${item.state}, and its report says ${report.outcome}`, { item, report });
  }
  const first = accepted.filter(({ answer }) => answer === 'accepted');
  if (first.length > 1) wrong(`${first.length} reports were answered as the accepted one`, first);
  const different = new Set(accepted.map(({ epoch, reportId }) => `${epoch} ${reportId}`));
  if (different.size > 1) wrong(`${different.size} different reports were answered as accepted`, accepted);
  const isFinal = FINAL.includes(item.state);
  if (events.length !== (isFinal ? 1 : 0))
    wrong(`is ${item.state} and has ${events.length} events of its end`, { item, events });
  for (const event of events) {
    if (isFinal && event.state !== item.state)
      wrong(`is ${item.state}, and its event says ${event.state}`, { item, event });
  }
  if (
    item.state === 'dead' &&
    item.attempt < item.maxAttempts &&
    !hasPublished(facts.history, item.id) &&
    item.offers < facts.history.times.offersMax
  ) {
    wrong(`was given up after ${item.attempt} attempts in ${item.offers} offers, which is too early`, item);
  }
  return found;
}

/**
 * This checks I4 by the database's clock: leases of one item follow each other, and none is taken away before
 * its time.
 */
function leasesDisjoint(facts: Facts, item: ItemRow): Violation[] {
  const { found, of } = findings();
  const wrong = of('I4', item.id);
  const leases = facts.leases.get(item.id) ?? [];
  const { leaseMs, offerMs, toleranceMs } = facts.history.times;
  const holding = item.state === 'offered' || item.state === 'running';
  const open = leases.filter(({ endedAt }) => endedAt === null);
  if (open.length > (holding ? 1 : 0))
    wrong(`is ${item.state} with ${open.length} open leases`, { item, open });
  leases.forEach((lease, i) => {
    const before = leases[i - 1];
    if (before !== undefined && (before.endedAt === null || before.endedAt > lease.grantedAt)) {
      wrong(`lease ${lease.epoch} began before lease ${before.epoch} ended`, { before, lease });
    }
    if (lease.endedAt === null || lease.endReason !== 'expired') return;
    // This is what the holder was promised: an offer counts from its grant, a lease from when it sent the
    // heartbeat that was answered `ok`.
    const renewedAt = facts.renewedAt.get(keyOf(lease));
    const [since, atLeastMs] = renewedAt === undefined ? [lease.grantedAt, offerMs] : [renewedAt, leaseMs];
    if (lease.endedAt - since < atLeastMs - toleranceMs) {
      wrong(
        `lease ${lease.epoch} was taken away ${Math.round(lease.endedAt - since)} ms after it was given or renewed for ${atLeastMs} ms`,
        { lease, renewedAt },
      );
    }
  });
  return found;
}

/**
 * This checks I4 by the runners' own clocks: an execution beside another one is a stale one, and it ends
 * soon.
 */
function executionsDisjoint(facts: Facts, item: ItemRow): Violation[] {
  const executions = (facts.executions.get(item.id) ?? []).toSorted(
    (a, b) => a.epoch - b.epoch || a.from - b.from,
  );
  const { rig, times } = facts.history;
  const { found, of } = findings();
  const wrong = of('I4', item.id);
  executions.forEach((older, i) => {
    for (const newer of executions.slice(i + 1)) {
      if (older.epoch === newer.epoch) {
        wrong(`was executed twice under epoch ${older.epoch}`, [older, newer]);
        continue;
      }
      const overlapMs = liveOverlapMs(older, newer, frozenSpans(rig, older.runner));
      if (overlapMs <= times.staleMs) continue;
      const message = `was executed twice at once for ${Math.round(overlapMs)} ms, at most ${times.staleMs} ms`;
      wrong(message, [older, newer]);
    }
  });
  return found;
}

/**
 * Checks I5: every grant has its own lease row and raised the epoch, by one or into the next generation of
 * the database.
 */
function epochsRise(facts: Facts, item: ItemRow): Violation[] {
  const epochs = (facts.leases.get(item.id) ?? []).map(({ epoch }) => epoch);
  const rises = epochs.every((epoch, i) => epoch > (epochs[i - 1] ?? 0));
  if (rises && item.epoch === (epochs.at(-1) ?? 0) && item.offers === epochs.length) return [];
  const message = `has epoch ${item.epoch} after ${item.offers} offers and leases of the epochs ${epochs.join(', ') || 'none'}`;
  return [{ invariant: 'I5', about: item.id, message, evidence: item }];
}

/** Checks I6: the accepted report is of the current grant, made by its holder, and the holder was told so. */
function noStaleReport(facts: Facts, item: ItemRow): Violation[] {
  const { found, of } = findings();
  const wrong = of('I6', item.id);
  const leases = facts.leases.get(item.id) ?? [];
  const [report] = facts.reports.get(item.id) ?? [];
  for (const answer of facts.answered.get(item.id) ?? []) {
    if (answer.answer !== 'accepted' && answer.answer !== 'repeated') continue;
    if (report === undefined || answer.epoch !== report.epoch || answer.reportId !== report.reportId) {
      wrong(`a report of epoch ${answer.epoch} was answered as accepted, and another one is stored`, {
        answer,
        report,
        leases,
      });
    }
  }
  if (report === undefined) return found;
  const lease = leases.find(({ epoch }) => epoch === report.epoch);
  if (report.epoch !== item.epoch || lease?.endReason !== 'reported') {
    wrong(`report of epoch ${report.epoch} was accepted, and the item is at ${item.epoch}`, {
      report,
      item,
      leases,
    });
  }
  const others = leases.filter(({ epoch, endReason }) => endReason === 'reported' && epoch !== report.epoch);
  if (others.length > 0) wrong('leases of other epochs than the accepted report’s count as reported', others);
  const sent = (facts.sent.get(item.id) ?? []).filter(({ reportId }) => reportId === report.reportId);
  const author = sent.find(
    ({ epoch, runner }) => epoch === report.epoch && facts.runnerIds.get(runner) === lease?.runnerId,
  );
  if (author === undefined)
    wrong('no runner that held the lease sent the accepted report under its epoch', { report, lease, sent });
  else if ((report.outcome === 'succeeded') !== (author.exitCode === 0)) {
    wrong(`is stored as ${report.outcome}, and its runner reported exit code ${author.exitCode}`, {
      report,
      author,
    });
  }
  return found;
}

/** Checks I6: a grant that was over is never renewed. */
function noStaleHeartbeat(facts: Facts): Violation[] {
  const { runners, times } = facts.history;
  const { found, of } = findings();
  for (const [runner, entries] of runners) {
    for (const entry of entries) {
      if (entry.event !== 'heartbeat') continue;
      for (const { work, epoch, word } of entry.leases) {
        if (word !== 'ok') continue;
        const lease = (facts.leases.get(work) ?? []).find((row) => row.epoch === epoch);
        const holder = lease !== undefined && lease.runnerId === facts.runnerIds.get(runner);
        const over = (lease?.endedAt ?? Number.POSITIVE_INFINITY) + times.toleranceMs < entry.sentWall;
        if (holder && !over) continue;
        const message = `${runner} was told to go on with epoch ${epoch}, which ${holder ? 'was over' : 'it does not hold'}`;
        of('I6', work)(message, { heartbeat: { sentWall: entry.sentWall, epoch }, lease });
      }
    }
  }
  return found;
}

/**
 * This checks I7 and I6: acknowledged output is stored whole, and none of a grant that was taken away is
 * added.
 */
function outputWhole(facts: Facts): Violation[] {
  const { found, of } = findings();
  for (const { work, epoch, bytes, sha256, runner } of facts.stored) {
    const output = (facts.outputs.get(work) ?? []).find((row) => row.epoch === epoch);
    const length = output?.lengths.reduce((sum, each) => sum + each, 0) ?? 0;
    if (length === bytes && output?.sha256 === sha256) continue;
    const message = `${runner} was told that ${bytes} bytes of epoch ${epoch} are stored, and ${length} are, or others`;
    of('I7', work)(message, { sha256, output });
  }
  for (const output of [...facts.outputs.values()].flat()) {
    const { work, epoch, offsets, lengths } = output;
    const contiguous = offsets.every(
      (offset, i) => offset === lengths.slice(0, i).reduce((sum, each) => sum + each, 0),
    );
    if (!contiguous) of('I7', work)(`output of epoch ${epoch} has gaps or overlaps`, output);
    const lease = (facts.leases.get(work) ?? []).find((row) => row.epoch === epoch);
    // The last holder of a run that was given up may still bring its output: nobody came after it.
    const last = facts.items.get(work)?.epoch === epoch;
    const over = lease !== undefined && !last && lease.endedAt !== null;
    if (lease === undefined || (over && output.lastAt > lease.endedAt + facts.history.times.toleranceMs))
      of('I6', work)(`output was added under epoch ${epoch}, which was over`, { output, lease });
  }
  return found;
}

interface Submission {
  readonly kind: SubmitEntry['kind'];
  readonly key: string;
  readonly ids: ReadonlySet<string>;
  /** Refused for good, and no attempt was left without an answer. */
  readonly refused: boolean;
  readonly entries: ReadonlyArray<SubmitEntry & Stamp>;
}

/**
 * Checks I1, I9 and I13: acknowledged means there, refused means not there, one key means one row, and no row
 * is without its key.
 */
function submissionsKept({ history }: Facts): Violation[] {
  const { found, of } = findings();
  const submissions = submissionsOf(history.submits);
  const itemsOf = (wanted: 'run' | 'build') => history.items.filter(({ kind = 'run' }) => kind === wanted);
  const byKey = (rows: ReadonlyArray<{ readonly id: string; readonly key: string | null }>) =>
    groupBy(rows, ({ key }) => key ?? '');
  const rowsByKey = {
    run: byKey(itemsOf('run')),
    build: byKey(itemsOf('build')),
    project: byKey(history.projects),
  };
  for (const { kind, key, ids, refused, entries } of submissions.values()) {
    const there = (rowsByKey[kind].get(key) ?? []).map(({ id }) => id);
    const wrong = (invariant: Invariant, message: string): void =>
      of(invariant, key)(`${kind}: ${message}`, { there, entries });
    for (const id of ids)
      if (!there.includes(id))
        wrong(kind === 'project' ? 'I13' : 'I1', `${id} was acknowledged and is not there`);
    if (ids.size > 1) wrong('I9', `was acknowledged under ${ids.size} ids`);
    if (there.length > 1) wrong('I9', `made ${there.length} rows`);
    if (refused && there.length > 0) wrong('I13', 'was refused for good and is there');
  }
  for (const kind of ['run', 'build', 'project'] as const) {
    for (const [key, rows] of rowsByKey[kind]) {
      if (submissions.has(`${kind} ${key}`)) continue;
      of('I13', rows[0]?.id ?? key)(`${kind} that nobody submitted`, rows);
    }
  }
  return found;
}

function submissionsOf(entries: ReadonlyArray<SubmitEntry & Stamp>): Map<string, Submission> {
  const submissions = new Map<string, Submission>();
  for (const [name, own] of groupBy(entries, ({ kind, key }) => `${kind} ${key}`)) {
    const [first] = own;
    if (first === undefined) continue;
    const outcomes = own.filter((entry) => entry.event === 'outcome');
    const intents = own.length - outcomes.length;
    const ids = new Set(
      outcomes.flatMap(({ id, outcome }) => (outcome === 'ok' && id !== undefined ? [id] : [])),
    );
    // An attempt has one intent entry each: one without an outcome was cut off by a kill and may have
    // happened.
    const refused = intents === outcomes.length && outcomes.every(({ outcome }) => outcome === 'fail');
    submissions.set(name, { kind: first.kind, key: first.key, ids, refused, entries: own });
  }
  return submissions;
}

/** Checks I13: a report that was answered as accepted is there. */
function reportsKept(facts: Facts): Violation[] {
  return [...facts.answered].flatMap(([work, answers]) => {
    const [answer] = answers.filter(({ answer: word }) => word === 'accepted' || word === 'repeated');
    if (answer === undefined || facts.items.has(work)) return [];
    const message = 'its report was accepted, and the item is not there';
    return [{ invariant: 'I13' as const, about: work, message, evidence: answer }];
  });
}

function factsOf(history: History): Facts {
  const entries = [...history.runners].flatMap(([runner, own]) => own.map((entry) => ({ ...entry, runner })));
  const boots = entries.filter((entry) => entry.event === 'boot');
  return {
    history,
    items: new Map(history.items.map((item) => [item.id, item])),
    leases: groupBy(
      history.leases.toSorted((a, b) => a.epoch - b.epoch),
      ({ work }) => work,
    ),
    reports: groupBy(history.reports, ({ work }) => work),
    events: groupBy(history.events, ({ work }) => work),
    outputs: groupBy(history.outputs, ({ work }) => work),
    executions: groupBy(executionsOf(history), ({ work }) => work),
    sent: groupBy(
      entries.filter((entry) => entry.event === 'report-sent'),
      ({ work }) => work,
    ),
    answered: groupBy(
      entries.filter((entry) => entry.event === 'report-answer'),
      ({ work }) => work,
    ),
    stored: entries.filter((entry) => entry.event === 'logs'),
    renewedAt: renewalsOf(entries),
    runnerIds: new Map(boots.map(({ runner, runnerId }) => [runner, runnerId])),
  };
}

function renewalsOf(entries: readonly RunnerEntry[]): Map<string, number> {
  const renewedAt = new Map<string, number>();
  for (const entry of entries) {
    if (entry.event !== 'heartbeat') continue;
    for (const lease of entry.leases) {
      if (lease.word === 'ok')
        renewedAt.set(keyOf(lease), Math.max(renewedAt.get(keyOf(lease)) ?? 0, entry.sentWall));
    }
  }
  return renewedAt;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** Violations as lines for people: at most `max` of each kind, with the evidence of the first. */
export function describeViolations(violations: readonly Violation[], max = 3): string {
  return [...groupBy(violations, ({ invariant }) => invariant)]
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap(([invariant, own]) => [
      `${invariant}: ${own.length} violations`,
      ...own
        .slice(0, max)
        .map(
          ({ about, message, evidence }) =>
            `  ${about} ${message}\n    ${JSON.stringify(evidence).slice(0, 1_500)}`,
        ),
    ])
    .join('\n');
}
