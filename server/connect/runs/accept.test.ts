import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinAll } from '../../../test/setup/ci/reports.ts';
import { accept, acceptOfRun, join, settle, type CiState } from './accept.ts';
import type { CiEvent, CiStatus } from '../providers/index.ts';

const said = (status: CiStatus, order?: string | number, more: Partial<CiEvent> = {}): CiEvent => ({
  status,
  facts: {},
  ...(order === undefined ? {} : { order }),
  ...more,
});

/** As each provider sends them, in the order of what happened, and what they come to. */
const SEQUENCES: ReadonlyArray<readonly [name: string, events: readonly CiEvent[], end: object]> = [
  [
    'GitHub: approval sends a run back to the queue, updated_at orders it',
    [
      said('queued', '2026-07-01T10:00:00Z', { providerStatus: 'queued' }),
      said('queued', '2026-07-01T10:00:02Z', {
        providerStatus: 'waiting',
        blocked: true,
        reason: 'approval',
      }),
      said('queued', '2026-07-01T10:05:00Z', { providerStatus: 'queued' }),
      said('running', '2026-07-01T10:05:04Z', { providerStatus: 'in_progress' }),
      said('success', '2026-07-01T10:07:00Z', { providerStatus: 'completed', providerConclusion: 'success' }),
    ],
    { status: 'success', blocked: false, reason: null, providerConclusion: 'success' },
  ],
  [
    'GitHub: two events of one second, the higher rank stands',
    [said('queued', '2026-07-01T10:00:00Z'), said('running', '2026-07-01T10:00:00Z')],
    { status: 'running' },
  ],
  [
    'GitLab: a retried pipeline keeps its id, greater build ids open it again',
    [said('running', 1_000), said('failed', 1_001), said('running', 1_010), said('success', 1_010)],
    { status: 'success' },
  ],
  [
    'GitLab: opened again and still running',
    [said('running', 998), said('failed', 999), said('running', 1_010)],
    { status: 'running' },
  ],
  [
    'Bitbucket: updated_on with microseconds',
    [said('running', '2026-07-01T10:00:00.000001Z'), said('failed', '2026-07-01T10:00:00.000002Z')],
    { status: 'failed' },
  ],
  [
    'CircleCI: ends alone, and the job that told of its start',
    [said('running'), said('success', '2026-07-01T10:00:00.000Z')],
    { status: 'success' },
  ],
  [
    'Buildkite: no order, blocked after it passed, then unblocked',
    [
      said('queued'),
      said('running'),
      said('queued', undefined, { blocked: true }),
      said('running'),
      said('success'),
    ],
    { status: 'success', blocked: false },
  ],
  [
    'Drone: row versions',
    [said('queued', 2), said('running', 9), said('cancelled', 10)],
    { status: 'cancelled' },
  ],
  [
    'Azure: createdDate with seven digits; completed, then run again',
    [
      said('failed', '2026-07-01T10:00:00.1234567Z'),
      said('running', '2026-07-01T10:09:00.0000001Z'),
      said('success', '2026-07-01T10:10:00.0000000Z', { soft: true }),
    ],
    { status: 'success', soft: true },
  ],
  [
    'Jenkins: phases alone',
    [said('queued'), said('running'), said('success'), said('success')],
    { status: 'success' },
  ],
  [
    'webhooks and direct reports mixed',
    [said('queued', 1), said('running'), said('running', 2), said('success'), said('failed', 3)],
    { status: 'failed' },
  ],
];

const shuffledWithDuplicates = (events: readonly CiEvent[]) =>
  fc
    .tuple(
      fc.shuffledSubarray([...events], { minLength: events.length }),
      fc.array(fc.nat({ max: events.length - 1 }), { maxLength: 6 }),
      fc.array(fc.nat({ max: events.length }), { minLength: 6, maxLength: 6 }),
    )
    .map(([order, again, places]) => {
      const all = [...order];
      again.forEach((which, n) => all.splice(places[n] ?? 0, 0, events[which] as CiEvent));
      return all;
    });

const word = fc.constantFrom<CiStatus[]>('queued', 'running', 'success', 'failed', 'cancelled', 'unknown');
const anyEvent: fc.Arbitrary<CiEvent> = fc.record(
  {
    status: word,
    order: fc.oneof(fc.nat({ max: 3 }), fc.constantFrom('2.05', '2.5', '2026-01-01', '2026-01-02')),
    blocked: fc.boolean(),
    soft: fc.boolean(),
    reason: fc.constantFrom('skipped', 'timed_out', null),
    providerStatus: fc.constantFrom('a', 'b', null),
    facts: fc.record(
      {
        builtSha: fc.constantFrom('c', 'd', null),
        commitSha: fc.constantFrom('a', 'b', null),
        branch: fc.constantFrom('main', 'next', ''),
        durationMs: fc.nat({ max: 2 }),
        finishedAt: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['facts'] },
);

describe('accept()', () => {
  it.each(SEQUENCES)('ends in the same run in any order, with duplicates: %s', (_name, events, end) => {
    const inOrder = joinAll(events);
    expect(settle(inOrder)).toMatchObject(end);
    fc.assert(
      fc.property(shuffledWithDuplicates(events), (order) => {
        expect(settle(joinAll(order))).toEqual(settle(inOrder));
      }),
      { numRuns: 200 },
    );
  });

  it('does the same for events that no provider would send', () => {
    const events = fc.array(anyEvent, { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(
        events.chain((list) => fc.tuple(fc.constant(list), shuffledWithDuplicates(list))),
        ([list, order]) => {
          expect(settle(joinAll(order))).toEqual(settle(joinAll(list)));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('comes to the same whether two rows get the events apart and meet, or one gets all', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 5 }), fc.array(anyEvent, { maxLength: 5 }), (a, b) => {
        expect(settle(join(joinAll(a), joinAll(b)))).toEqual(settle(joinAll([...a, ...b])));
      }),
    );
  });

  it('ignores what it knows, also after the database has turned its keys around', () => {
    const event = said('running', 5, { providerStatus: 'in_progress', facts: { branch: 'main' } });
    const state = joinAll([event]);
    const [key, value] = state.ordered ?? ['', said('queued')];
    const turned = Object.fromEntries(Object.entries(value).toReversed()) as typeof value;
    const stored = { facts: state.facts, ordered: [key, turned] } as CiState;
    expect(accept(stored, event)).toEqual({ kind: 'ignored', reason: 'duplicate' });
    expect(accept(stored, said('success', 4))).toEqual({ kind: 'ignored', reason: 'older' });
  });

  it('never comes to a success by contradiction, and lets every other end replace unknown', () => {
    expect(settle(joinAll([said('failed'), said('success')])).status).toBe('failed');
    expect(settle(joinAll([said('success'), said('cancelled')])).status).toBe('cancelled');
    expect(settle(joinAll([said('unknown'), said('success')])).status).toBe('success');
    expect(settle(joinAll([said('unknown', 9), said('success')])).status).toBe('success');
  });

  it('believes the provider before a job in facts, and forgets an end that was taken back', () => {
    const job = said('success', undefined, {
      facts: { commitSha: 'merge', finishedAt: '2026-01-01T00:00:00Z' },
    });
    const hook = said('running', 3, { facts: { commitSha: 'head' } });
    expect(settle(joinAll([hook, job])).facts.commitSha).toBe('head');
    const reopened = [
      said('failed', 1, { facts: { finishedAt: '2026-01-01T00:00:00Z' } }),
      said('running', 2),
    ];
    expect(settle(joinAll(reopened)).facts).not.toHaveProperty('finishedAt');
  });

  it('shows the wait for a person while a job of the run says that it runs, and no longer', () => {
    const [waits, job] = [said('queued', 2, { blocked: true, reason: 'approval' }), said('running')];
    for (const events of [
      [waits, job],
      [job, waits, said('running', 1)],
    ])
      expect(settle(joinAll(events))).toMatchObject({ status: 'queued', blocked: true, reason: 'approval' });
    expect(settle(joinAll([waits, job, said('running', 3)]))).toMatchObject({
      status: 'running',
      blocked: false,
    });
    expect(settle(joinAll([waits, job, said('failed')]))).toMatchObject({ status: 'failed', blocked: false });
    expect(settle(joinAll([said('queued', 2), job])).status).toBe('running');
  });

  it('orders decimals behind their whole number and before the next', () => {
    const orders = ['9', '9.05', '9.1', '10', '10.000'];
    for (const [n, order] of orders.slice(1).entries()) {
      const before = joinAll([said('failed', orders[n])]);
      expect(settle(joinAll([said('running', order), said('failed', orders[n])])).status).toBe('running');
      expect(accept(before, said('running', order)).kind).toBe('accepted');
    }
  });

  it('takes what was built for the commit as long as nobody knows better', () => {
    const built = said('running', 5, { facts: { builtSha: 'merge' } });
    const job = said('running', undefined, { facts: { commitSha: 'head' } });
    expect(settle(joinAll([built])).facts.commitSha).toBe('merge');
    expect(settle(joinAll([job, built])).facts.commitSha).toBe('head');
    expect(settle(joinAll([built, job])).facts.commitSha).toBe('head');
  });

  it('lets an explicit correction stand over what was known', () => {
    const known = joinAll([said('success', undefined, { facts: { durationMs: 900 } })]);
    const outcome = accept(known, { facts: { durationMs: 100 }, corrects: true });
    expect(outcome.kind === 'accepted' && settle(outcome.state).facts.durationMs).toBe(100);
  });
});

describe('acceptOfRun()', () => {
  const kind = (state: CiState, event: CiEvent) => {
    const outcome = acceptOfRun(state, event);
    return outcome.kind === 'accepted' ? settle(outcome.state).status : outcome.reason;
  };

  it('lets an end stand, but for what its provider says later of a run that it runs again', () => {
    const ended = joinAll([said('running', 5), said('failed', 10)]);
    const { ended: _, ...stored } = ended;
    for (const state of [ended, stored]) {
      expect(kind(state, said('success', 10))).toBe('over');
      expect(kind(state, said('success'))).toBe('over');
      expect(kind(state, said('running', 11))).toBe('running');
      expect(kind(state, said('success', 11))).toBe('success');
      expect(kind(state, said('success', 11, { final: true }))).toBe('over');
      expect(kind(state, said('success', 9))).toBe('older');
    }
    const direct = joinAll([said('success')]);
    expect(kind(direct, said('failed', 99))).toBe('over');
    expect(kind(direct, said('failed'))).toBe('over');
    expect(kind(joinAll([said('unknown')]), said('failed'))).toBe('failed');
  });

  it('knows no open word behind an end that is for good', () => {
    const events = [said('running', 60, { final: true }), said('success', 50, { final: true })];
    for (const order of [events, events.toReversed()]) expect(settle(joinAll(order)).status).toBe('success');
  });
});
