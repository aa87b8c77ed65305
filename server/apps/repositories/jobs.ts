/**
 * Hosts are asked for the repositories that a team's tokens see. One job looks which tokens there are, and
 * has each of them used once, whichever number of connections has it; another one uses it. A pass that does
 * not come to its end removes nothing.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { ms } from '../../base/sql.ts';
import { eachStep, startLoop, type Loop } from '../../base/loop.ts';
import { connectionJob, forgeErrorOf, type Connection } from '../../connect/connections/index.ts';
import {
  apiUrlOf,
  clip,
  forgeApi,
  forgeOf,
  listRepositories,
  openToken,
  REPOSITORIES_MAX,
  rootOf,
  type ForgeDeps,
  type ForgeProblem,
} from '../../connect/providers/index.ts';
import {
  doubling,
  keyedJobsAdded,
  missingJobsAdded,
  wakeWorkers,
  type Job,
  type JobKind,
} from '../../kit/jobs/index.ts';
import { noteProblem, storePass } from './passes.ts';

export const PLAN = 'repositories_plan';
export const LIST = 'ci_list_repositories';

/** Without anybody who lists them, repositories are asked for so often. */
const REFRESH_MS = 6 * 3_600_000;
const EVERY_MS = 5 * 60_000;
/** Teams of one pass; those of a longer backlog have their turn in the next one. */
const TEAMS_MAX = 200;

export interface RepositoryDeps extends Omit<ForgeDeps, 'secrets'> {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'open' | 'mac'>;
}

export const planOf = (teamId: string) =>
  ({ teamId, kind: PLAN, key: teamId, lane: `repositories ${teamId}` }) as const;

interface LoopDeps extends Pick<RepositoryDeps, 'db' | 'clock'> {
  onError(error: unknown): void;
}

export function startRefreshes({ db, clock, onError }: LoopDeps): Loop {
  return startLoop({
    everyMs: EVERY_MS,
    onError,
    run: async () => {
      const now = clock.now();
      await eachStep([async () => await beginRefreshes(db, now), async () => await askDue(db, now)], onError);
    },
  });
}

/** Has the repositories listed of teams that have got their first token. */
export async function beginRefreshes({ sql }: Database, now: Date): Promise<void> {
  await sql`
    insert into repository_refreshes (team_id, asked_at)
    select distinct c.team_id, ${now}::timestamptz - ${ms(sql, REFRESH_MS)} from ci_connections c
    where c.token is not null and c.status <> 'paused' and not exists (select from repository_refreshes r where r.team_id = c.team_id)
    limit ${TEAMS_MAX}
    on conflict (team_id) do nothing`;
}

export async function askDue(database: Database, now: Date): Promise<void> {
  await database.transact(async (db) => {
    const { sql } = db;
    const plans = missingJobsAdded(
      sql,
      { kind: PLAN, inMs: 0 },
      sql`select a.team_id, 'repositories ' || a.team_id as lane, a.team_id as key, '{}'::jsonb as payload from asked a`,
    );
    await sql`
      with due as (
        select team_id from repository_refreshes where asked_at <= ${now}::timestamptz - ${ms(sql, REFRESH_MS)}
        order by asked_at limit ${TEAMS_MAX} for no key update skip locked
      ), asked as (
        update repository_refreshes r set asked_at = ${now} from due where r.team_id = due.team_id returning r.team_id
      )
      ${plans}`;
    wakeWorkers(db);
  });
}

type Token = Pick<
  Connection,
  'id' | 'provider' | 'repositoryHost' | 'repositoryPath' | 'forge' | 'apiUrl' | 'token'
>;

/** Names the source that a connection's token is; undefined where nobody said what its host is. */
function sourceOf({ secrets }: Pick<RepositoryDeps, 'secrets'>, connection: Token): string | undefined {
  const forge = forgeOf(connection);
  const token = openToken(secrets, connection);
  if (forge === undefined || token === undefined) return undefined;
  const parts = [forge, connection.repositoryHost, apiUrlOf(connection, forge), token];
  return Buffer.from(secrets.mac('repositories.source', JSON.stringify(parts))).toString('base64url');
}

export function planJob(deps: RepositoryDeps): JobKind {
  return {
    kind: PLAN,
    attempts: 5,
    backoff: doubling(5_000, 3_600_000),
    concurrency: 4,
    perTeam: 1,
    timeoutMs: 60_000,
    run: async ({ teamId }) => await plan(deps, teamId),
  };
}

interface Source {
  readonly source: string;
  readonly connectionId: string;
  readonly roots: readonly string[];
}

/** Returns a source for each token; the first connection that has it stands for all of them. */
function sourcesOf(deps: RepositoryDeps, connections: readonly Token[]): readonly Source[] {
  const found = new Map<string, Source>();
  for (const connection of connections) {
    const forge = forgeOf(connection);
    const source = sourceOf(deps, connection);
    if (forge === undefined || source === undefined) continue;
    const known = found.get(source) ?? { source, connectionId: connection.id, roots: [] };
    const root = rootOf(forge, connection.repositoryPath);
    const isKnown = known.roots.some((each) => each.toLowerCase() === root.toLowerCase());
    found.set(source, isKnown ? known : { ...known, roots: [...known.roots, root] });
  }
  return [...found.values()];
}

async function plan(deps: RepositoryDeps, teamId: string): Promise<void> {
  const connections = await deps.db.sql<readonly Token[]>`
    select id, provider, repository_host as "repositoryHost", repository_path as "repositoryPath", forge, api_url as "apiUrl", token
    from ci_connections where team_id = ${teamId} and token is not null and status <> 'paused' order by id`;
  const sources = sourcesOf(deps, connections);
  await deps.db.transact(async (db) => {
    const { sql } = db;
    await sql`
      delete from repository_sources where team_id = ${teamId} and source <> all(${sources.map(({ source }) => source)}::text[])`;
    if (sources.length === 0) {
      await sql`delete from repository_refreshes where team_id = ${teamId}`;
      return;
    }
    const jobs = keyedJobsAdded(
      sql,
      { kind: LIST, inMs: 0 },
      sql`
        select s.team_id, 'repositories ' || s.connection_id as lane, s.connection_id || ' list' as key,
          jsonb_build_object('connectionId', s.connection_id, 'source', s.source, 'roots', g.roots) as payload
        from stored s join given g on g.source = s.source`,
    );
    await sql`
      with given as (
        select * from json_to_recordset(${sql.json(sources)}::json) as g (source text, "connectionId" text, roots jsonb)
      ), stored as (
        insert into repository_sources (team_id, source, connection_id) select ${teamId}, source, "connectionId" from given order by source
        on conflict (team_id, source) do update set connection_id = excluded.connection_id
        returning team_id, source, connection_id
      )
      ${jobs}`;
    wakeWorkers(db);
  });
}

export function listJob(deps: RepositoryDeps): JobKind {
  const { db, clock } = deps;
  return connectionJob(deps, {
    kind: LIST,
    // Somebody waits for the list, and asks again: a quarter of a minute of patience with a host, not hours.
    attempts: 3,
    patienceMs: 60_000,
    run: async (connection, job, signal) => {
      const { source, roots } = payloadOf(job);
      // Its token is another one by now, or it is paused: the next plan knows.
      if (connection.status === 'paused' || sourceOf(deps, connection) !== source) return;
      const seenAt = clock.now();
      const api = forgeApi(deps, connection, signal);
      const { repositories, isComplete } = await listRepositories(api, roots);
      await storePass(db, {
        teamId: connection.teamId,
        source,
        host: connection.repositoryHost,
        forge: api.forge,
        seenAt,
        repositories,
        problem: isComplete
          ? null
          : `${nameOf(connection)} sees more repositories than are read: ${REPOSITORIES_MAX} are the limit`,
      });
    },
    gaveUp: async (connection, thrown, job) => {
      const { problem, message } = forgeErrorOf(thrown);
      const why = clip(
        `${nameOf(connection)} could not list repositories, ${WHY[problem]}: ${message}`,
        PROBLEM_MAX,
      );
      await noteProblem(db, { teamId: connection.teamId, source: payloadOf(job).source, problem: why });
    },
  });
}

/** Characters. */
const PROBLEM_MAX = 1_000;

const nameOf = ({ id, repositoryKey }: Connection): string => `the token of ${id} (${repositoryKey})`;

const WHY: Readonly<Record<ForgeProblem, string>> = {
  unauthorised: 'because its host takes the token for nobody’s',
  forbidden: 'because its host does not allow it to',
  not_found: 'because its host knows no such owner, or hides it from the token',
  refused: 'because its host refused it',
  rate_limited: 'because its host asks to be left alone for a while',
  provider_unavailable: 'because its host did not answer',
  answer_invalid: 'because the answer of its host cannot be read',
  unsupported_host: 'because its host cannot be asked',
};

function payloadOf({ payload }: Job) {
  return { source: String(payload['source']), roots: payload['roots'] as readonly string[] };
}
