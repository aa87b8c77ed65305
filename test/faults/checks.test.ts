/** Each check of checks.ts finds what it is there for, and nothing in what is sound. */
import { describe, expect, it } from 'vitest';
import { entryHash } from '../../server/kit/ledger/entry.ts';
import {
  executionsEndWithLeases,
  ledgerWhole,
  moneyKept,
  publishedOnce,
  recovered,
  teamsApart,
} from './checks.ts';
import type { AuditRow, History, LeaseRow } from './history.ts';

const WALL = 1_800_000_000_000;
const at = (ms: number) => ({ wall: WALL + ms, mono: ms });
const times = {
  leaseMs: 3_000,
  offerMs: 1_500,
  offersMax: 20,
  toleranceMs: 100,
  staleMs: 1_000,
  recoverMs: 5_000,
};

function lease(epoch: number, endedAt: number): LeaseRow {
  const granted = WALL + epoch * 10;
  return {
    work: 'bld_1',
    epoch,
    runnerId: 'rnr_a',
    grantedAt: granted,
    startedAt: granted,
    lastContactAt: granted,
    endedAt: WALL + endedAt,
    endReason: 'expired',
  };
}

/** One build of team a, executed once by runner-a under epoch 1, whose lease ended at 2,000. */
function history(some: Partial<History> = {}): History {
  return {
    times,
    submits: [],
    rig: [{ event: 'healed', ...at(1_000) }],
    runners: new Map([
      [
        'runner-a',
        [
          { event: 'boot', runnerId: 'rnr_a', bootId: 'b', pid: 1, ...at(0) },
          { event: 'offered', work: 'bld_1', epoch: 1, pollId: 'p', attempt: 1, ...at(11) },
          { event: 'start', work: 'bld_1', epoch: 1, ...at(12) },
          { event: 'kill', work: 'bld_1', epoch: 1, why: 'lease', ...at(2_050) },
        ],
      ],
    ]),
    items: [
      {
        id: 'bld_1',
        state: 'failed',
        epoch: 1,
        attempt: 1,
        maxAttempts: 3,
        offers: 1,
        runnerId: null,
        leaseId: null,
        exitCode: null,
        key: 'k',
        kind: 'build',
        pool: 'team_a',
      },
    ],
    leases: [lease(1, 2_000)],
    reports: [],
    events: [],
    projects: [],
    outputs: [],
    teamOf: new Map([['rnr_a', 'team_a']]),
    phases: [],
    ...some,
  };
}

describe('I8, the ledger', () => {
  const entries = (): AuditRow[] => {
    const made: AuditRow[] = [];
    for (const seq of [1, 2]) {
      const content = {
        action: 'project.created',
        actor: { display: 'A', id: 'usr_1', kind: 'user' as const },
        at: WALL + seq,
        details: { name: 'a "b" é', list: [1, true, null], inner: { z: 1, a: 2 } },
        requestId: `req_${seq}`,
        target: `prj_${seq}`,
      };
      const previousHash = made.at(-1)?.hash ?? '0'.repeat(64);
      made.push({
        chain: 'team_a',
        seq,
        previousHash,
        hash: entryHash({ chain: 'team_a', seq, previousHash }, content),
        ...content,
      });
    }
    return made;
  };
  const whole = (audit: AuditRow[]): History =>
    history({
      audit,
      heads: [{ chain: 'team_a', seq: 2, hash: entries()[1]?.hash ?? '' }],
      projects: [1, 2].map((seq) => ({ id: `prj_${seq}`, key: `k${seq}` })),
    });

  it('finds nothing in a whole one, by a hash computed without the product', () => {
    expect(ledgerWhole(whole(entries()))).toEqual([]);
  });
  it.each([
    ['an entry that was changed', (list: AuditRow[]) => list.map((entry) => ({ ...entry, target: 'prj_9' }))],
    ['an entry that is gone', (list: AuditRow[]) => list.slice(1)],
    ['an end that was cut off', (list: AuditRow[]) => list.slice(0, 1)],
  ])('finds %s', (_, spoil) => {
    expect(ledgerWhole(whole(spoil(entries())))).not.toEqual([]);
  });
  it('finds a project that the ledger does not know', () => {
    const known = whole(entries());
    expect(ledgerWhole({ ...known, projects: [...known.projects, { id: 'prj_3', key: 'k3' }] })).toHaveLength(
      1,
    );
  });
});

describe('I10, the walls between teams', () => {
  it('finds a grant and an offer to a runner of another team', () => {
    expect(teamsApart(history())).toEqual([]);
    expect(teamsApart(history({ teamOf: new Map([['rnr_a', 'team_b']]) }))).toHaveLength(2);
  });
});

describe('I12, executions and their leases', () => {
  it('finds one that goes on, but not for having been frozen', () => {
    expect(executionsEndWithLeases(history())).toEqual([]);
    const late = history({ leases: [lease(1, 500)] });
    expect(executionsEndWithLeases(late)).toHaveLength(1);
    const frozen = [
      { event: 'frozen' as const, process: 'runner-a', ...at(400) },
      { event: 'thawed' as const, process: 'runner-a', ...at(2_000) },
    ];
    expect(executionsEndWithLeases({ ...late, rig: frozen })).toEqual([]);
  });
});

describe('published once', () => {
  it('finds a second grant after publishing, whoever noted the first', () => {
    const again = { leases: [lease(1, 2_000), lease(2, 3_000)] };
    expect(publishedOnce(history(again))).toEqual([]);
    expect(
      publishedOnce(history({ ...again, phases: [{ work: 'bld_1', epoch: 1, phase: 3 }] })),
    ).toHaveLength(1);
    const told = { event: 'phase' as const, work: 'bld_1', epoch: 1, phase: 'deploying', ...at(20) };
    expect(publishedOnce(history({ ...again, runners: new Map([['runner-a', [told]]]) }))).toHaveLength(1);
    expect(publishedOnce(history({ ...again, phases: [{ work: 'bld_1', epoch: 2, phase: 4 }] }))).toEqual([]);
  });
});

describe('I11, recovery', () => {
  it('finds an end that came too late after the last healing', () => {
    expect(recovered(history())).toEqual([]);
    expect(recovered(history({ leases: [lease(1, 7_000)] }))).toHaveLength(1);
  });
});

describe('money', () => {
  it('is told of by the row, where the database says that a sum is not that of its parts', () => {
    expect(moneyKept(history())).toEqual([]);
    const money = [{ table: 'usage_events', row: 'run_1', problem: 'its report has 2 events, expected 1' }];
    expect(moneyKept(history({ money }))).toMatchObject([
      { invariant: 'money', about: 'usage_events run_1', message: 'its report has 2 events, expected 1' },
    ]);
  });
});
