/**
 * The anomalies of each day are told here, once. Each team has a job, which looks at one day after the other
 * while the team uses something. Its row is what remembers the day: what is told and the step to the next day
 * are one transaction. A team that begins, or begins again, is found by a sweep over the teams.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { publishedUntil, addEvent } from '../../kit/events/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Database } from '../../base/db/index.ts';
import type { System } from '../../kit/feature.ts';
import { decimalOf, type Pricing } from '../amounts/index.ts';
import {
  addJob,
  isJobOpen,
  JobNotYet,
  missingJobsAdded,
  type Job,
  type JobKind,
} from '../../kit/jobs/index.ts';
import { startLoop, type Loop } from '../../base/loop.ts';
import { addDays, dayOf, METERED, monthOf } from '../metering/index.ts';
import { findAnomalies, type FoundAnomaly } from './anomalies.ts';
import { notice } from './anomaly-notice.ts';

export const ANOMALY_JOB = 'costs.anomalies';

const MINUTE_MS = 60_000;
/**
 * After the end of a day: what was reported in its last second is published by then, unless the worker was
 * off.
 */
const AFTER_MS = 30 * MINUTE_MS;
/** So long an unpublished report is waited for. */
const PATIENCE_MS = 6 * 60 * MINUTE_MS;
const SWEEP_EVERY_MS = MINUTE_MS;
/** A day is swept again, for reports that were published late. */
const SWEPT_FOR_MS = 60 * MINUTE_MS;
const TEAMS_A_PASS = 500;
/** The greatest of a team and day are told; more tell nobody more. */
const TOLD_MAX = 10;

type Watched = { readonly day: string };
type Deps = Pick<System, 'db' | 'clock'> & Pick<Pricing, 'currency'>;

const yesterdayOf = (now: Date): string => addDays(dayOf(now.getTime()), -1);
const endOf = (day: string): number => Date.parse(addDays(day, 1));

export function anomalyJob(deps: Deps): JobKind<Watched> {
  return {
    kind: ANOMALY_JOB,
    attempts: 10,
    backoff: () => 5 * MINUTE_MS,
    concurrency: 2,
    perTeam: 1,
    timeoutMs: MINUTE_MS,
    run: async (job) => await look(deps, job),
  };
}

async function look(deps: Deps, { teamId, payload }: Job<Watched>): Promise<void> {
  const now = deps.clock.now();
  const yesterday = yesterdayOf(now);
  // Whoever was off for days has nothing to tell of the first of them.
  const day = payload.day < yesterday ? yesterday : payload.day;
  await waitFor(deps, { teamId, day, now });
  const who = { db: deps.db, teams: systemScope(teamId) };
  const { anomalies } = await findAnomalies(who, { teamId, days: [day] });
  await deps.db.transact(async (db) => {
    for (const found of anomalies.slice(0, TOLD_MAX)) await tell(db, { ...deps, teamId, now }, found);
    if (await usedOn(db, teamId, day)) await addJob(db, jobOf(teamId, addDays(day, 1)));
  });
}

/** Until the day is over, and its reports are published. */
async function waitFor(
  { db }: Deps,
  { teamId, day, now }: { readonly teamId: string; readonly day: string; readonly now: Date },
): Promise<void> {
  const end = endOf(day);
  const dueInMs = end + AFTER_MS - now.getTime();
  if (dueInMs > 0) throw new JobNotYet(dueInMs);
  const published = await publishedUntil(db.sql, { teamId, kind: 'work.finished', effect: METERED, now });
  if (published.getTime() < end && now.getTime() < end + PATIENCE_MS) throw new JobNotYet(MINUTE_MS);
}

async function tell(
  db: Database,
  { teamId, now, currency }: Deps & { readonly teamId: string; readonly now: Date },
  found: FoundAnomaly,
): Promise<void> {
  const { day, projectId, actual, expected, deviationPct } = found;
  await addEvent(db, {
    teamId,
    kind: 'cost.anomaly',
    key: [teamId, day, projectId ?? 'team'].join(' '),
    payload: {
      ...notice(found, { teamId, currency }),
      day,
      projectId,
      actual: decimalOf(actual),
      expected: decimalOf(expected),
      deviationPct,
      currency,
    },
    at: now,
  });
}

async function usedOn({ sql }: Database, teamId: string, day: string): Promise<boolean> {
  const used = await sql`
    select 1 from cost_days where team_id = ${teamId} and period = ${monthOf(day)}::date and day = ${day}::date limit 1`;
  return used.length > 0;
}

function jobOf(teamId: string, day: string) {
  return { teamId, kind: ANOMALY_JOB, key: teamId, lane: laneOf(teamId), payload: { day } };
}

const laneOf = (teamId: string): string => `costs ${teamId}`;

/**
 * Bounded steps over all teams, each day again; a worker that begins anew finds the jobs that others added.
 */
export function startAnomalySweep({ db, clock, onError }: Pick<System, 'db' | 'clock' | 'onError'>): Loop {
  let sweep = { day: '', after: '', nextAt: 0 };
  return startLoop({
    everyMs: SWEEP_EVERY_MS,
    onError,
    run: async () => {
      const now = clock.now().getTime();
      const day = yesterdayOf(new Date(now));
      if (now < endOf(day) + AFTER_MS) return false;
      if (sweep.day !== day) sweep = { day, after: '', nextAt: 0 };
      if (now < sweep.nextAt) return false;
      const last = await addMissing(db, { day, after: sweep.after });
      sweep = { day, after: last ?? '', nextAt: last === undefined ? now + SWEPT_FOR_MS : 0 };
      return last !== undefined;
    },
  });
}

/**
 * Jobs for teams that used something on the day and have none. Returns the last team that was looked at,
 * undefined behind the last one of all.
 */
export async function addMissing(
  { sql }: Pick<Database, 'sql'>,
  { day, after }: { readonly day: string; readonly after: string },
): Promise<string | undefined> {
  const rows = sql`
    select p.id as team_id, p.id as key, ${laneOf('')} || p.id as lane, jsonb_build_object('day', ${day}::text) as payload from page p
    where exists (select from cost_days d where d.team_id = p.id and d.period = ${monthOf(day)}::date and d.day = ${day}::date)
      and not ${isJobOpen(sql, ANOMALY_JOB, sql`p.id`)}`;
  const [row] = await sql<Array<{ last: string | null; count: number }>>`
    with page as (select id from teams where id > ${after} order by id limit ${TEAMS_A_PASS}),
    added as (${missingJobsAdded(sql, { kind: ANOMALY_JOB, inMs: 0 }, rows)})
    select max(id) as last, count(*)::int as count from page`;
  return row?.count === TEAMS_A_PASS ? (row.last ?? undefined) : undefined;
}
