/**
 * Runs that no report comes of any more. Webhooks are lost for good (GitHub does not send a failed delivery
 * again), so the provider of a run that is silent is asked where there is a token for it. A
 * run that cannot be asked about and stands open past the longest time its provider allows becomes `unknown`
 * with the reason `lost`: never `failed`, since nobody reported that. A later report takes its place
 * (record-runs.ts). Any number of servers may do this.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Clock } from '../../base/clock.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { isJobOpen, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { eachStep, startLoop, type Loop } from '../../base/loop.ts';
import { askHost, connectionJob, readConnection } from '../connections/index.ts';
import {
  ASKABLE,
  ASKABLE_ID,
  askRun,
  forgeApi,
  ForgeError,
  KNOWN_HOSTS,
  type CiProvider,
  type ForgeApi,
  type ForgeDeps,
} from '../providers/index.ts';
import { isTerminal } from './accept.ts';
import type { RunFollower } from './run.ts';
import { POLL_EVERY_MS, recordEventsOf, runById } from './record-runs.ts';
import { recordJobs } from './record-jobs.ts';

const HOUR_MS = 3_600_000;

/**
 * Longest time that an open run may be silent. A queued GitHub job was seen to wait 48 h for a self-hosted
 * runner; elsewhere a day is the limit.
 */
const QUEUED_MS: Readonly<Partial<Record<CiProvider, number>>> = { github: 49 * HOUR_MS };
const QUEUED_DEFAULT_MS = 25 * HOUR_MS;
/** Hosted jobs end after 6 h at most. */
const RUNNING_MS = 7 * HOUR_MS;
/** Approvals of GitHub expire after 30 days, others later or never. */
const BLOCKED_MS = 30 * 24 * HOUR_MS;

const EVERY_MS = 60_000;
/** Runs of one statement; a longer backlog takes several. */
const BATCH = 200;
/** Providers asked in one pass; those of a longer backlog have their turn a minute later. */
const POLLS_MAX = 200;

/** Runs are given up in this database, and followed. */
export interface GivingUp {
  readonly db: Database;
  readonly follow: RunFollower;
}

export interface CiHealthDeps extends GivingUp {
  readonly clock: Clock;
  onError(error: unknown): void;
}

export function startCiHealth({ clock, onError, ...giving }: CiHealthDeps): Loop {
  return startLoop({
    everyMs: EVERY_MS,
    onError,
    run: async () => {
      const now = clock.now();
      const ask = async () => await askSilent(giving.db, now);
      const giveUpRest = async () => await giveUpLost(giving, now);
      await eachStep([ask, giveUpRest], onError);
    },
  });
}

/**
 * Returns whether the provider of run `r` of connection `c` can be asked about it: it is the repository's
 * host, and there is a token.
 */
function canBeAsked(sql: SqlTag) {
  const hosts = Object.entries(KNOWN_HOSTS);
  return sql`(
    c.token is not null and c.status <> 'paused' and c.provider = any(${[...ASKABLE]}) and r.external_run_id ~ ${ASKABLE_ID}
    and c.provider = coalesce(c.forge, (
      select h.forge from unnest(${hosts.map(([host]) => host)}::text[], ${hosts.map(([, forge]) => forge)}::text[]) as h (host, forge)
      where h.host = c.repository_host), c.provider)
  )`;
}

/**
 * Has the providers of runs asked that were silent for an hour, and again every hour or so: not all of them
 * at the same moment, and not while an earlier request has not ended. Returns how many are to be asked.
 */
export async function askSilent(database: Database, now: Date): Promise<number> {
  return await database.transact(async (db) => {
    const { sql } = db;
    const rows = await sql<Array<{ id: string; teamId: string; connectionId: string; isToBeAsked: boolean }>>`
      with due as (
        select id from ci_runs where poll_at <= ${now} order by poll_at limit ${POLLS_MAX}::int for no key update skip locked
      )
      update ci_runs r set poll_at = ${now}::timestamptz + (0.9 + 0.2 * random()) * ${POLL_EVERY_MS}::int * interval '1 millisecond'
      from due, ci_connections c
      where r.id = due.id and c.id = r.connection_id
      returning r.id, r.team_id as "teamId", r.connection_id as "connectionId", 
        ${canBeAsked(sql)} and not ${isJobOpen(sql, 'ci_poll_run', sql`r.connection_id || ' ' || r.id`)} as "isToBeAsked"`;
    const asked = rows.filter(({ isToBeAsked }) => isToBeAsked);
    for (const { id, teamId, connectionId } of asked) {
      const job = {
        kind: 'ci_poll_run',
        key: id,
        lane: `runs ${connectionId}`,
        payload: { runId: id },
      } as const;
      await askHost(db, { id: connectionId, teamId }, job);
    }
    return asked.length;
  });
}

/** Returns how many runs were given up. */
export async function giveUpLost(giving: GivingUp, now: Date): Promise<number> {
  let lost = 0;
  for (let batch = BATCH; batch === BATCH; lost += batch) batch = await giveUpSilent(giving, now);
  return lost;
}

/**
 * Gives up runs that cannot be asked about and were silent for too long; with `askedInVain` the one run whose
 * provider was asked. Its time must have run out as well. Returns how many there were.
 */
export async function giveUpSilent(giving: GivingUp, now: Date, askedInVain?: string): Promise<number> {
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  const queued = Object.entries(QUEUED_MS);
  return await giveUp(giving, now, {
    reason: 'lost',
    which: (sql) => sql`
      select r.id from ci_runs r join ci_connections c on c.id = r.connection_id
        left join unnest(${queued.map(([provider]) => provider)}::text[], ${queued.map(([, ms]) => before(ms).toISOString())}::text[])
          as d (provider, queued_before) on d.provider = c.provider
      where r.status in ('queued', 'running') and r.heard_at < ${before(RUNNING_MS)} and r.heard_at < case
        when r.blocked then ${before(BLOCKED_MS)}::timestamptz
        when r.status = 'queued' then coalesce(d.queued_before::timestamptz, ${before(QUEUED_DEFAULT_MS)}::timestamptz)
        else ${before(RUNNING_MS)}::timestamptz
      end and ${askedInVain === undefined ? sql`not ${canBeAsked(sql)}` : sql`r.id = ${askedInVain}`}
      limit ${BATCH} for no key update of r skip locked`,
  });
}

/** Gives up a run that its provider does not have any more. */
export async function giveUpGone(giving: GivingUp, runId: string, now: Date): Promise<void> {
  await giveUp(giving, now, {
    reason: 'gone',
    which: (sql) =>
      sql`select r.id from ci_runs r where r.id = ${runId} and r.status in ('queued', 'running') for no key update`,
  });
}

interface RunsToGiveUp {
  readonly reason: 'lost' | 'gone';
  /** Selects the ids of open runs and locks them. */
  readonly which: (sql: SqlTag) => ReturnType<SqlTag>;
}

/** Returns how many runs were given up. */
async function giveUp(
  { db: database, follow }: GivingUp,
  now: Date,
  { reason, which }: RunsToGiveUp,
): Promise<number> {
  return await database.transact(async (db) => {
    const { sql } = db;
    const rows = await sql<Array<{ id: string; connectionId: string; hasToken: boolean }>>`
      with silent as (${which(sql)}), given_up as (
        update ci_runs r set status = 'unknown', reason = ${reason}, lost = true, blocked = false, poll_at = null, updated_at = ${now}
        from silent where r.id = silent.id returning r.id, r.connection_id, r.commit_sha, r.pipeline_id
      ), closed as (
        update ci_jobs j set status = 'unknown', reason = 'run_ended'
        from given_up g where j.run_id = g.id and j.own_status in ('queued', 'running') and not j.blocked returning 1
      )
      select g.id, g.connection_id as "connectionId", c.token is not null as "hasToken"
      from given_up g join ci_connections c on c.id = g.connection_id
      -- Statuses of commits are locked in one order by all servers.
      order by g.connection_id, g.commit_sha, g.pipeline_id, g.id`;
    for (const { id, connectionId } of rows.filter(({ hasToken }) => hasToken)) {
      const run = await runById(db, id);
      const connection = await readConnection(db, connectionId);
      if (run !== undefined && connection !== undefined)
        await follow(db, connection, { before: undefined, run });
    }
    return rows.length;
  });
}

export interface PollDeps extends ForgeDeps, GivingUp {
  readonly clock: Clock;
}

const runIdOf = ({ payload }: Job): string => String(payload['runId']);

export function pollJob({ db: database, clock, follow, ...forges }: PollDeps): JobKind {
  const giving = { db: database, follow };
  return connectionJob(
    { db: database, clock },
    {
      kind: 'ci_poll_run',
      run: async (connection, job, signal) => {
        const run = await runById(database, runIdOf(job));
        if (run === undefined || isTerminal(run.status)) return; // A report came meanwhile.
        const unanswered = async () => await giveUpSilent(giving, clock.now(), run.id);
        if (connection.token === null) return void (await unanswered());
        const api = forgeApi(forges, connection, signal);
        let answer;
        try {
          answer = await askRun(api, connection, run);
        } catch (error) {
          if (!(error instanceof ForgeError) || error.problem !== 'not_found') throw error;
          await checkVisible(api);
          await giveUpGone(giving, run.id, clock.now());
          return;
        }
        if (answer === undefined || 'ignored' in answer) return void (await unanswered());
        const { event, jobs } = answer;
        await database.transact(async (db) => {
          const recording = { db, connection, now: clock.now(), follow };
          const recorded = await recordEventsOf(recording, run, () => [event]);
          if (recorded.steps.every(({ kind }) => kind !== 'over'))
            await recordJobs(recording, recorded.run, jobs);
        });
      },
      /** Asked again in an hour, until its time has run out. */
      gaveUp: async (_connection, _error, job) => {
        await giveUpSilent(giving, clock.now(), runIdOf(job));
      },
    },
  );
}

/**
 * Throws when the repository is hidden from the token: a host answers 404 then, as it does for a run that was
 * deleted.
 */
async function checkVisible(api: ForgeApi): Promise<void> {
  await api.call({ path: api.repositoryBase });
}
