/**
 * A judge must be judged: a sound history passes, and each way of breaking a promise is found under its name.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { check, describeViolations } from './checker.ts';
import type { Invariant } from './findings.ts';
import type { RigEntry, RunnerEntry, SubmitEntry } from './entries.ts';
import type { EventRow, History, ItemRow, LeaseRow, OutputRow, ProjectRow, ReportRow } from './history.ts';
import type { Stamp } from './journal.ts';

const WALL = 1_800_000_000_000;
const at = (ms: number): Stamp => ({ wall: WALL + ms, mono: ms });

/** A lease that was renewed by a heartbeat, whose answer came a millisecond later. */
const renewed = (work: string, ms: number): RunnerEntry & Stamp => {
  const leases = [{ work, epoch: 1, word: 'ok' as const }];
  return { event: 'heartbeat', sentWall: WALL + ms, leases, ...at(ms + 1) };
};

/** The row has three bytes that are of the first grant. */
const lateOutput = (work: string, ms: number): OutputRow => {
  const pieces = { offsets: [0], lengths: [3], sha256: 'x' };
  return { work, epoch: 1, ...pieces, lastAt: WALL + ms };
};

interface Forged {
  submits: Array<SubmitEntry & Stamp>;
  a: Array<RunnerEntry & Stamp>;
  b: Array<RunnerEntry & Stamp>;
  rig: Array<RigEntry & Stamp>;
  items: ItemRow[];
  leases: LeaseRow[];
  reports: ReportRow[];
  events: EventRow[];
  projects: ProjectRow[];
  outputs: OutputRow[];
}

/**
 * run_1 lost its first runner (a, killed at 2,000), expired at 5,100, ran again on b and succeeded; run_2 is
 * of one attempt on b; key-3 was refused; one project was made.
 */
function sound(): Forged {
  return {
    submits: [
      { event: 'intent', kind: 'run', key: 'key-1', ...at(0) },
      { event: 'outcome', kind: 'run', key: 'key-1', outcome: 'unknown', ...at(3) },
      { event: 'intent', kind: 'run', key: 'key-1', ...at(5) },
      { event: 'outcome', kind: 'run', key: 'key-1', outcome: 'ok', id: 'run_1', status: 201, ...at(9) },
      { event: 'intent', kind: 'run', key: 'key-2', ...at(10) },
      { event: 'outcome', kind: 'run', key: 'key-2', outcome: 'ok', id: 'run_2', status: 201, ...at(12) },
      { event: 'intent', kind: 'run', key: 'key-3', ...at(13) },
      {
        event: 'outcome',
        kind: 'run',
        key: 'key-3',
        outcome: 'fail',
        status: 400,
        code: 'validation_failed',
        ...at(14),
      },
      { event: 'intent', kind: 'project', key: 'key-4', ...at(15) },
      { event: 'outcome', kind: 'project', key: 'key-4', outcome: 'ok', id: 'prj_1', status: 201, ...at(16) },
    ],
    a: [
      { event: 'boot', runnerId: 'rnr_a', bootId: 'a1', pid: 1, ...at(1) },
      { event: 'offered', work: 'run_1', epoch: 1, pollId: 'p1', attempt: 1, ...at(20) },
      renewed('run_1', 21),
      { event: 'accepted', work: 'run_1', epoch: 1, ...at(22) },
      { event: 'start', work: 'run_1', epoch: 1, ...at(23) },
      { event: 'boot', runnerId: 'rnr_a', bootId: 'a2', pid: 2, ...at(9_000) },
    ],
    b: [
      { event: 'boot', runnerId: 'rnr_b', bootId: 'b1', pid: 3, ...at(1) },
      { event: 'offered', work: 'run_2', epoch: 1, pollId: 'p2', attempt: 1, ...at(30) },
      { event: 'accepted', work: 'run_2', epoch: 1, ...at(32) },
      { event: 'start', work: 'run_2', epoch: 1, ...at(33) },
      { event: 'stop', work: 'run_2', epoch: 1, exitCode: 1, ...at(43) },
      { event: 'report-sent', work: 'run_2', epoch: 1, reportId: 'r2', exitCode: 1, ...at(44) },
      { event: 'report-answer', work: 'run_2', epoch: 1, reportId: 'r2', answer: 'accepted', ...at(50) },
      { event: 'offered', work: 'run_1', epoch: 2, pollId: 'p3', attempt: 2, ...at(5_200) },
      { event: 'accepted', work: 'run_1', epoch: 2, ...at(5_210) },
      { event: 'start', work: 'run_1', epoch: 2, ...at(5_211) },
      { event: 'logs', work: 'run_1', epoch: 2, bytes: 10, sha256: 'abc', ...at(5_230) },
      { event: 'stop', work: 'run_1', epoch: 2, exitCode: 0, ...at(5_300) },
      { event: 'report-sent', work: 'run_1', epoch: 2, reportId: 'r1', exitCode: 0, ...at(5_301) },
      { event: 'report-answer', work: 'run_1', epoch: 2, reportId: 'r1', answer: 'unanswered', ...at(5_400) },
      { event: 'report-sent', work: 'run_1', epoch: 2, reportId: 'r1', exitCode: 0, ...at(5_450) },
      { event: 'report-answer', work: 'run_1', epoch: 2, reportId: 'r1', answer: 'repeated', ...at(5_460) },
    ],
    rig: [
      { event: 'started', process: 'runner-a', pid: 1, ...at(0) },
      { event: 'dead', process: 'runner-a', ...at(2_000) },
    ],
    items: [
      item('run_1', 'succeeded', { epoch: 2, attempt: 2, offers: 2, exitCode: 0, key: 'key-1' }),
      item('run_2', 'failed', {}),
    ],
    leases: [
      lease(['run_1', 1, 'rnr_a', 'expired'], [19, 22, 2_000, 5_100]),
      lease(['run_1', 2, 'rnr_b', 'reported'], [5_199, 5_209, 5_209, 5_350]),
      lease(['run_2', 1, 'rnr_b', 'reported'], [29, 31, 31, 45]),
    ],
    reports: [
      { work: 'run_1', epoch: 2, reportId: 'r1', outcome: 'succeeded', acceptedAt: WALL + 5_350 },
      { work: 'run_2', epoch: 1, reportId: 'r2', outcome: 'failed', acceptedAt: WALL + 45 },
    ],
    events: [
      { work: 'run_1', state: 'succeeded', epoch: 2 },
      { work: 'run_2', state: 'failed', epoch: 1 },
    ],
    projects: [{ id: 'prj_1', key: 'key-4' }],
    outputs: [
      { work: 'run_1', epoch: 2, offsets: [0, 4], lengths: [4, 6], sha256: 'abc', lastAt: WALL + 5_225 },
    ],
  };
}

function item(id: string, state: string, some: Partial<ItemRow>): ItemRow {
  return {
    id,
    state,
    epoch: 1,
    attempt: 1,
    maxAttempts: 5,
    offers: 1,
    runnerId: 'rnr_b',
    leaseId: null,
    exitCode: 1,
    key: 'key-2',
    ...some,
  };
}

type LeaseOf = readonly [work: string, epoch: number, runnerId: string, endReason: string];
type LeaseTimes = readonly [grantedAt: number, startedAt: number, lastContactAt: number, endedAt: number];

function lease([work, epoch, runnerId, endReason]: LeaseOf, times: LeaseTimes): LeaseRow {
  const [grantedAt, startedAt, lastContactAt, endedAt] = times.map(
    (ms) => WALL + ms,
  ) as unknown as LeaseTimes;
  return { work, epoch, runnerId, endReason, grantedAt, startedAt, lastContactAt, endedAt };
}

function history(forged: Forged): History {
  const { a, b, ...rest } = forged;
  const times = { leaseMs: 3_000, offerMs: 1_500, offersMax: 20, toleranceMs: 100, staleMs: 1_000 };
  return {
    ...rest,
    times,
    runners: new Map([
      ['runner-a', a],
      ['runner-b', b],
    ]),
  };
}

function isLike<T extends object>(one: T, which: Partial<T>): boolean {
  return Object.entries(which).every(([name, value]) => one[name as keyof T] === value);
}

/** Finds an entry or row and puts something else in its place. */
function change<T extends object>(list: T[], which: Partial<T>, into: Partial<T>): void {
  const index = list.findIndex((one) => isLike(one, which));
  const found = list[index];
  if (found === undefined) throw new Error(`nothing matches ${JSON.stringify(which)}`);
  list[index] = { ...found, ...into };
}

function drop<T extends object>(list: T[], which: Partial<T>): void {
  const left = list.filter((one) => !isLike(one, which));
  if (left.length === list.length) throw new Error(`nothing matches ${JSON.stringify(which)}`);
  list.splice(0, list.length, ...left);
}

const accepted = { event: 'report-answer', answer: 'accepted' } as const;
const stale = { ...accepted, work: 'run_1', epoch: 1, reportId: 'r0' };

/** Each case breaks one promise. The named invariant must be among what is found. */
const BROKEN: Partial<Record<Invariant, Readonly<Record<string, (h: Forged) => unknown>>>> = {
  I1: {
    'an acknowledged run that is not there': (h) => drop(h.items, { id: 'run_2' }),
    'a run that never ended': (h) => change(h.items, { id: 'run_2' }, { state: 'queued' }),
  },
  I2: {
    'a success that nobody executed': (h) => drop(h.b, { event: 'stop', work: 'run_1' }),
    'a success that was executed under another epoch only': (h) =>
      change(h.b, { event: 'stop', work: 'run_1' }, { epoch: 1 } as Partial<RunnerEntry & Stamp>),
  },
  I3: {
    'an end without a report': (h) => drop(h.reports, { work: 'run_2' }),
    'a report of something that goes on': (h) =>
      change(h.items, { id: 'run_2' }, { state: 'running', leaseId: 'lse_1' }),
    'two runners whose report was accepted': (h) => h.a.push({ ...stale, ...at(9_100) }),
    'one report that was accepted twice': (h) =>
      h.b.push({ ...stale, work: 'run_2', reportId: 'r2', ...at(60) }),
    'an end without its event': (h) => drop(h.events, { work: 'run_2' }),
    'two events of one end': (h) => h.events.push({ work: 'run_2', state: 'failed', epoch: 1 }),
    'an event that says something else': (h) => change(h.events, { work: 'run_2' }, { state: 'succeeded' }),
    'a run given up too early': (h) => change(h.items, { id: 'run_2' }, { state: 'dead' }),
  },
  I4: {
    'two leases at once': (h) => change(h.leases, { work: 'run_1', epoch: 1 }, { endedAt: WALL + 5_200 }),
    'a lease that was left open': (h) => change(h.leases, { work: 'run_1', epoch: 2 }, { endedAt: null }),
    'a lease that was taken away early': (h) => h.a.splice(5, 0, renewed('run_1', 4_000)),
    'an offer that was taken away early': (h) => {
      drop(h.a, { event: 'heartbeat' });
      change(h.leases, { work: 'run_1', epoch: 1 }, { grantedAt: WALL + 4_000 });
    },
    'an execution that went on beside the next one': (h) => {
      drop(h.rig, { event: 'dead' });
      h.a.push({ event: 'kill', work: 'run_1', epoch: 1, why: 'superseded', ...at(6_500) });
      change(h.a, { bootId: 'a2' } as Partial<RunnerEntry & Stamp>, at(20_000));
      change(h.b, { event: 'stop', work: 'run_1' }, at(6_400));
      h.a.sort((x, y) => x.mono - y.mono);
    },
    'a grant that was executed twice': (h) => {
      h.b.push(
        { event: 'start', work: 'run_1', epoch: 2, ...at(7_000) },
        { event: 'stop', work: 'run_1', epoch: 2, exitCode: 0, ...at(7_001) },
      );
    },
  },
  I5: {
    'a grant that did not raise the epoch': (h) => change(h.items, { id: 'run_1' }, { epoch: 1 }),
    'a grant without its lease': (h) => drop(h.leases, { work: 'run_1', epoch: 1 }),
    'an epoch that jumped': (h) => change(h.leases, { work: 'run_1', epoch: 2 }, { epoch: 3 }),
  },
  I6: {
    'a stale report that was accepted': (h) => h.a.push({ ...stale, ...at(9_100) }),
    'a stale report that was stored under the current epoch': (h) => {
      h.b.forEach((entry, i) => {
        if ('reportId' in entry && entry.work === 'run_1') h.b[i] = { ...entry, epoch: 1 };
      });
    },
    'a report of an older epoch in the table': (h) => change(h.reports, { work: 'run_1' }, { epoch: 1 }),
    'a result that is not what the runner reported': (h) =>
      change(h.b, { event: 'report-sent', work: 'run_2' }, { exitCode: 0 } as Partial<RunnerEntry & Stamp>),
    'a grant that was renewed after its end': (h) => h.a.push(renewed('run_1', 5_400)),
    'a grant that was renewed for somebody else': (h) => h.a.push(renewed('run_2', 40)),
    'output of a grant that was over': (h) => h.outputs.push(lateOutput('run_1', 6_000)),
  },
  I7: {
    'acknowledged output that is not there': (h) => drop(h.outputs, { work: 'run_1' }),
    'output with a gap': (h) => change(h.outputs, { work: 'run_1' }, { offsets: [0, 5], lengths: [4, 6] }),
  },
  I9: {
    'a key that made two runs': (h) => change(h.items, { id: 'run_2' }, { key: 'key-1' }),
    'a key that was acknowledged under two ids': (h) =>
      h.submits.push({ event: 'outcome', kind: 'run', key: 'key-1', outcome: 'ok', id: 'run_9', ...at(99) }),
    'a key that made two projects': (h) => h.projects.push({ id: 'prj_2', key: 'key-4' }),
  },
  I13: {
    'an acknowledged project that is not there': (h) => h.projects.splice(0),
    'a refused run that is there': (h) => change(h.items, { id: 'run_2' }, { key: 'key-3' }),
    'a run that nobody submitted': (h) => h.items.push(item('run_3', 'cancelled', { key: null })),
    'an accepted report whose run is not there': (h) => {
      drop(h.items, { id: 'run_2' });
      h.leases = h.leases.filter(({ work }) => work !== 'run_2');
    },
  },
};

describe('check()', () => {
  it('finds nothing in a sound history', () => {
    const found = check(history(sound()));
    expect(found, describeViolations(found)).toEqual([]);
  });

  it('accepts an attempt whose outcome nobody knows, whether it happened or not', () => {
    const forged = sound();
    forged.submits.push({ event: 'intent', kind: 'run', key: 'key-5', ...at(100) });
    expect(check(history(forged))).toEqual([]);
    change(forged.items, { id: 'run_2' }, { key: 'key-5' });
    drop(forged.submits, { key: 'key-2' });
    expect(check(history(forged))).toEqual([]);
  });

  it('accepts an execution that was frozen while the next one ran, if it stops soon after', () => {
    const forged = sound();
    drop(forged.rig, { event: 'dead' });
    forged.rig.push(
      { event: 'frozen', process: 'runner-a', ...at(2_000) },
      { event: 'thawed', process: 'runner-a', ...at(8_000) },
    );
    forged.a.push({ event: 'kill', work: 'run_1', epoch: 1, why: 'lease', ...at(8_020) });
    forged.a.sort((x, y) => x.mono - y.mono);
    expect(check(history(forged))).toEqual([]);
  });

  it('accepts a run that was given up after its last attempt', () => {
    const forged = sound();
    change(forged.items, { id: 'run_2' }, { state: 'dead', attempt: 5 });
    change(forged.leases, { work: 'run_2' }, { endReason: 'expired', endedAt: WALL + 3_200 });
    forged.reports = forged.reports.filter(({ work }) => work !== 'run_2');
    change(forged.events, { work: 'run_2' }, { state: 'dead' });
    // Its last holder brings the output when it is over.
    forged.outputs.push(lateOutput('run_2', 4_000));
    change(forged.b, { event: 'report-answer', work: 'run_2' }, { answer: 'stale_epoch' } as Partial<
      RunnerEntry & Stamp
    >);
    expect(check(history(forged))).toEqual([]);
  });

  const cases = Object.entries(BROKEN).flatMap(([invariant, broken]) =>
    Object.entries(broken).map(([what, breakIt]) => [invariant, what, breakIt] as const),
  );
  for (const [invariant, what, breakIt] of cases) {
    it(`finds ${what} (${invariant})`, () => {
      const forged = sound();
      breakIt(forged);
      const found = check(history(forged));
      expect(
        found.map((violation) => violation.invariant),
        describeViolations(found),
      ).toContain(invariant);
    });
  }
});

describe('the judge', () => {
  it('imports nothing of the product', () => {
    for (const file of [
      'checker.ts',
      'checks.ts',
      'executions.ts',
      'findings.ts',
      'history.ts',
      'journal.ts',
      'entries.ts',
      'money.ts',
    ]) {
      const source = readFileSync(new URL(file, import.meta.url), 'utf8');
      const imported = [...source.matchAll(/from '([^']+)'/g)].map((match) => match[1] ?? '');
      expect(imported.filter((name) => name.startsWith('@svc/') || name.startsWith('../'))).toEqual([]);
    }
  });
});
