/** Anomalies of a team and its projects, and who is told of them. */
import { CostContributorKind } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { askAnomalies } from '../../../test/setup/money/asked.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import { publish } from '../../kit/events/index.ts';
import type { Database } from '../../base/db/index.ts';
import { JobNotYet, type Job } from '../../kit/jobs/index.ts';
import { addDays } from '../metering/index.ts';
import { addMissing, ANOMALY_JOB, anomalyJob } from './anomaly-watch.ts';
import { seedDays, type SeededDay } from './testing/days.ts';

const TODAY = '2026-11-10';
const YESTERDAY = '2026-11-09';
/** Milliseconds that cost this much at 0.0001 a second. */
const UNIT_MS = 10_000_000;

describe.skipIf(!(await has('postgres')))('anomalies', () => {
  let world: World;
  let db: Database;
  let teamId: string;
  beforeAll(async () => {
    world = await createWorld();
    ({ db } = world);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    teamId = await world.team();
    await db.sql`delete from outbox`;
  });

  const now = new Date(`${TODAY}T12:00:00Z`);
  const ask = async (thresholdPct?: number, teamIds = [teamId]) =>
    await askAnomalies({ db, teamId, now, teamIds }, thresholdPct);
  const days = async (rows: readonly SeededDay[]) =>
    await seedDays(
      db.sql,
      rows.map((row) => ({ teamId, ...row })),
    );
  /** This seeds ten weeks up to yesterday: two quiet projects, of which one is loud on some days. */
  const usual = async (loud: Readonly<Record<string, number>> = {}) => {
    const quietly = { projectId: 'prj_quiet', environmentId: 'env_quiet', runnerId: 'rnr_a' };
    const loudly = { projectId: 'prj_loud', environmentId: 'env_loud', runnerId: 'rnr_b' };
    const rows = Array.from({ length: 70 }, (_row, n) => addDays(YESTERDAY, -n));
    await days(rows.map((day) => ({ day, ...quietly, ms: 4 * UNIT_MS })));
    await days(rows.map((day) => ({ day, ...loudly, ms: (loud[day] ?? 2) * UNIT_MS })));
    await db.sql`insert into cost_names (team_id, id, name) values (${teamId}, 'prj_loud', 'shop'), (${teamId}, 'env_loud', 'production')`;
  };

  it('are of the team and of the project, newest first, with what grew', async () => {
    await usual({ [YESTERDAY]: 20, '2026-11-03': 8 });
    const { learning, anomalies: found } = await ask();
    expect(learning).toBe(false);
    expect(picked(found, 'day', 'projectId', 'actual', 'expected', 'deviationPct')).toEqual([
      [YESTERDAY, undefined, '24.000000000000', '6.000000000000', 300],
      [YESTERDAY, 'prj_loud', '20.000000000000', '2.000000000000', 900],
      ['2026-11-03', undefined, '12.000000000000', '6.000000000000', 100],
      ['2026-11-03', 'prj_loud', '8.000000000000', '2.000000000000', 300],
    ]);
    expect(found[0]).toMatchObject({ samples: 8 });
    expect(found[1]!.projectName).toBe('shop');
    const grown = { actual: '20.000000000000', expected: '2.000000000000' };
    expect(found[0]!.contributors).toMatchObject([
      { kind: CostContributorKind.ENVIRONMENT, id: 'env_loud', name: 'production', ...grown },
      { kind: CostContributorKind.RUNNER, id: 'rnr_b', ...grown },
    ]);
    expect(picked((await ask(250)).anomalies, 'day', 'projectId')).toEqual([
      [YESTERDAY, undefined],
      [YESTERDAY, 'prj_loud'],
      ['2026-11-03', 'prj_loud'],
    ]);
    expect((await ask(undefined, ['team_other'])).anomalies).toEqual([]);
  });

  it('are none of today, whose costs are not complete, and none of a team that is new', async () => {
    await usual();
    await days([{ day: TODAY, ms: 500 * UNIT_MS }]);
    expect(await ask()).toMatchObject({ anomalies: [], learning: false });
    teamId = await world.team();
    expect(await ask()).toMatchObject({ anomalies: [], learning: true });
    await days(
      Array.from({ length: 6 }, (_row, n) => ({
        day: addDays(YESTERDAY, -n),
        ms: (n === 0 ? 500 : 1) * UNIT_MS,
      })),
    );
    expect(await ask()).toMatchObject({ anomalies: [], learning: true });
  });

  describe('of yesterday', () => {
    const jobAt = (time: string) =>
      anomalyJob({ db, currency: 'usd', clock: createFakeClock(new Date(time)) });
    const jobs = async () =>
      await db.sql<Array<{ teamId: string; payload: { day: string } }>>`
        select team_id as "teamId", payload from jobs where kind = ${ANOMALY_JOB} and team_id = ${teamId}`;
    const run = async (time: string, day = YESTERDAY) =>
      await jobAt(time).run(
        { teamId, payload: { day } } as Job<{ day: string }>,
        new AbortController().signal,
      );
    const told = async () =>
      await db.sql<Array<{ key: string; payload: { title: string; body: string } }>>`
        select dedupe_key as key, payload from outbox where kind = 'cost.anomaly' order by dedupe_key`;

    it('are looked for in each team that used something, by one job, however many sweeps there are', async () => {
      await usual();
      const quiet = await world.team();
      const sweep = async () => await addMissing(db, { day: YESTERDAY, after: '' });
      expect(await Promise.all([sweep(), sweep(), sweep()])).toEqual([undefined, undefined, undefined]);
      expect(await jobs()).toEqual([{ teamId, payload: { day: YESTERDAY } }]);
      expect(await db.sql`select 1 from jobs where team_id = ${quiet}`).toHaveLength(0);
    });

    it('are told once, in words, and the job goes on with the next day', async () => {
      await usual({ [YESTERDAY]: 20 });
      await run('2026-11-10T00:30:00Z');
      const all = await told();
      expect(all.map(({ key }) => key)).toEqual([
        `${teamId} ${YESTERDAY} prj_loud`,
        `${teamId} ${YESTERDAY} team`,
      ]);
      expect(all.map(({ payload }) => payload.title)).toEqual([
        'Costs of the project shop on 2026-11-09 were far above the usual',
        'Costs on 2026-11-09 were far above the usual',
      ]);
      expect(all[1]!.payload.body).toBe(
        `They were 24.00 USD where 6.00 USD is usual for the day of the week, 300 % more. Most grew the environment production and the runner rnr_b. svc costs anomalies --team ${teamId} shows them.`,
      );
      expect(await jobs()).toEqual([{ teamId, payload: { day: TODAY } }]);
      // What was told is published and gone; a sweep that is late finds the job, and the job waits.
      await publish({ sql: db.sql, effects: [] });
      await addMissing(db, { day: YESTERDAY, after: '' });
      expect(await jobs()).toEqual([{ teamId, payload: { day: TODAY } }]);
      await expect(run('2026-11-10T00:31:00Z', TODAY)).rejects.toThrow(JobNotYet);
      expect(await told()).toEqual([]);
    });

    it('wait for the end of the day, and for reports that are not published yet, but not for ever', async () => {
      await usual({ [YESTERDAY]: 20 });
      await expect(run('2026-11-10T00:29:59Z')).rejects.toMatchObject({ inMs: 1_000 });
      await db.sql`
        insert into outbox (id, team_id, kind, dedupe_key, payload, created_at) values ('evt_w', ${teamId}, 'work.finished', 'run_w', '{}', '2026-11-09T23:59:00Z')`;
      await expect(run('2026-11-10T05:59:00Z')).rejects.toThrow(JobNotYet);
      expect(await told()).toEqual([]);
      await run('2026-11-10T06:00:00Z');
      expect(await told()).toHaveLength(2);
    });

    it('are of the newest day alone for a worker that was off, and the job ends when nothing was used', async () => {
      await usual({ '2026-11-05': 20 });
      await run('2026-11-12T01:00:00Z', '2026-11-05');
      expect(await told()).toEqual([]);
      expect(await jobs()).toEqual([]);
    });
  });
});
