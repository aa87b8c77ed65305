import { describe, expect, it } from 'vitest';
import type { Violation } from './findings.ts';
import type { SubmitEntry } from './entries.ts';
import type { Stamp } from './journal.ts';
import type { Verdict } from './scenario.ts';
import { createTally, isClean, isStarved } from './tally.ts';

const AT = { wall: 0, mono: 0 };

/** Ten runs were to be submitted, and `acknowledged` were. */
function verdict(changes: Partial<Verdict> = {}, acknowledged = 10): Verdict {
  const submits = Array.from({ length: acknowledged }, (_, i) => `s-run-${i}`).flatMap(
    (key): Array<SubmitEntry & Stamp> => [
      { event: 'intent', kind: 'run', key, ...AT },
      { event: 'outcome', kind: 'run', key, outcome: 'ok', id: key, ...AT },
    ],
  );
  const empty = { items: [], leases: [], reports: [], events: [], projects: [], outputs: [] };
  const times = { leaseMs: 1, offerMs: 1, offersMax: 1, toleranceMs: 1, staleMs: 1 };
  return {
    violations: [],
    crashes: [],
    history: { times, submits, runners: new Map(), rig: [], ...empty },
    rest: { how: 'done', ms: 1_000 },
    runs: 10,
    tookMs: 5_000,
    slowness: 1,
    ...changes,
  };
}

const violation = (invariant: Violation['invariant'], message: string): Violation => ({
  invariant,
  about: 'run_a',
  message,
  evidence: undefined,
});
const late = [violation('I11', 'the last lease ended late'), violation('I1', 'has not ended: it is queued')];

describe('isClean()', () => {
  it('asks for every promise, no crash, rest, and a load that was really there', () => {
    expect(isClean(verdict())).toBe(true);
    expect(isClean(verdict({ violations: late }))).toBe(false);
    expect(isClean(verdict({ crashes: ['server-0'] }))).toBe(false);
    expect(isClean(verdict({ rest: { how: 'late', ms: 90_000 } }))).toBe(false);
    expect(isClean(verdict({}, 8))).toBe(false);
    expect(isClean(new Error('the rig did not start'))).toBe(false);
  });
});

describe('isStarved()', () => {
  it('excuses nothing but time, and only while programs waited for a processor', () => {
    expect(isStarved(verdict({ violations: late, slowness: 3 }))).toBe(true);
    expect(isStarved(verdict({ violations: late, slowness: 2.9 }))).toBe(false);
    const lost = violation('I1', 'run_a was acknowledged and is not there');
    expect(isStarved(verdict({ violations: [...late, lost], slowness: 30 }))).toBe(false);
    expect(isStarved(verdict({ violations: late, crashes: ['server-0'], slowness: 30 }))).toBe(false);
    expect(isStarved(new Error('the rig did not start'))).toBe(false);
  });
});

describe('createTally()', () => {
  it('counts what was done, broken, played again and left out', () => {
    const tally = createTally();
    const done = { event: 'fault', row: 'server', kind: 'kill', target: 'server-0', ...AT } as const;
    const { history } = verdict();
    tally.add(verdict({ history: { ...history, rig: [done, { ...done, leftOut: true }] } }));
    expect(tally.clean()).toBe(true);
    tally.starved();
    tally.add(verdict({ violations: late }));
    tally.add(new Error('the rig did not start'));
    expect(tally.clean()).toBe(false);
    const [schedules = '', submissions, broken = '', , , faults] = tally.lines();
    expect(schedules).toMatch(/^3 schedules, 2 broken \(1 could not be judged\); 1 times/);
    expect(submissions).toMatch(/^20 submissions acknowledged in 20 attempts: 20 runs, 0 builds/);
    expect(broken).toMatch(
      /^1 lost, 0 double-accepted, 0 overlapping leases, 2 violations in all, I11: 1, I1: 1/,
    );
    expect(faults).toMatch(/^1 faults done, 1 left out/);
    expect(tally.lines().at(-1)).toMatch(/^ {2}server +1 times, .*; after 1 nothing was begun$/);
  });
});
