/**
 * Counts over teams, once a day and frozen until the next one: of each signature that at least five teams
 * had, how many, and what helped them. Teams that do not share are not counted, nor are young or idle ones:
 * whoever wanted to tell by the counts who else has a failure would have to keep teams at work for weeks.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import type { Clock } from '../../base/clock.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { startLoop, type Loop } from '../../base/loop.ts';
import type { Secrets } from '../../base/secrets.ts';
import { workingTeams } from './working.ts';
import type { ResolutionShare } from './schema.ts';

/** A count of fewer teams is told to nobody. */
export const TEAMS_MIN = 5;
/** So many teams must know what helped before that is told. */
const RESOLUTIONS_FROM = 10;
const STEPS = [5, 10, 25, 50, 100, 250, 1_000];
const PERCENT_STEP = 10;
const EVERY_MS = 10 * 60_000;
/** Signatures of one day, those of the most teams first. */
const SIGNATURES_MAX = 100_000;
const DAYS_KEPT = 7;

export interface SharedDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'mac'>;
}

export function startSharing(deps: SharedDeps & { onError(error: unknown): void }): Loop {
  return startLoop({ everyMs: EVERY_MS, onError: deps.onError, run: async () => await countDay(deps) });
}

interface Counted {
  readonly signature: string;
  readonly teams: number;
  readonly known: number;
  readonly retry: number;
  readonly runner: number;
  readonly settings: number;
  readonly commit: number;
  readonly unresolved: number;
}

/** The first of several servers counts the day, in one transaction; the others find it counted. */
export async function countDay(deps: SharedDeps): Promise<void> {
  const now = deps.clock.now();
  const day = now.toISOString().slice(0, 10);
  if (await isCounted(deps.db.sql, day)) return;
  await deps.db.transact(async ({ sql }) => {
    const first = await sql`
      insert into shared_signature_days (day) values (${day}) on conflict (day) do nothing returning day`;
    if (first.length === 0) return;
    await sql`delete from shared_signature_days where day < ${day}::date - ${DAYS_KEPT}::int`;
    const counted = await count(sql, now);
    const rows = counted.map((row) => ({
      key: keyOf(deps, row.signature).toString('hex'),
      teams: row.teams,
      resolutions: sharesOf(row),
    }));
    await sql`delete from shared_signatures`;
    await sql`
      insert into shared_signatures (key, teams, resolutions)
      select decode(r.key, 'hex'), r.teams, r.resolutions from json_to_recordset(${sql.json(rows)}::json) as r (key text, teams int, resolutions jsonb)`;
  });
}

async function isCounted(sql: SqlTag, day: string): Promise<boolean> {
  return (await sql`select from shared_signature_days where day = ${day}`).length > 0;
}

async function count(sql: SqlTag, now: Date): Promise<readonly Counted[]> {
  const helped = (word: string) => sql`count(*) filter (where s.resolution = ${word})::int`;
  return await sql<Counted[]>`
    with sharing as materialized (${workingTeams(sql, now, sql`t.share_failures`)})
    select s.signature, count(*)::int as teams, count(s.resolution)::int as known, ${helped('retry')} as retry,
      ${helped('runner')} as runner, ${helped('settings')} as settings, ${helped('commit')} as commit, ${helped('unresolved')} as unresolved
    from failure_signatures s join sharing t on t.id = s.team_id
    group by s.signature having count(*) >= ${TEAMS_MIN}::int order by 2 desc, 1 limit ${SIGNATURES_MAX}`;
}

const WORDS = ['retry', 'runner', 'settings', 'commit', 'unresolved'] as const;

function sharesOf(counted: Counted): readonly ResolutionShare[] {
  const { known } = counted;
  if (known < RESOLUTIONS_FROM) return [];
  const shares = WORDS.map((resolution) => ({
    resolution,
    percent: Math.round((counted[resolution] * 100) / known / PERCENT_STEP) * PERCENT_STEP,
  }));
  return shares.filter(({ percent }) => percent > 0).toSorted((a, b) => b.percent - a.percent);
}

const keyOf = ({ secrets }: Pick<SharedDeps, 'secrets'>, signature: string): Buffer =>
  Buffer.from(secrets.mac('failures.shared', signature));

export interface Others {
  readonly teamsAtLeast: number;
  readonly resolutions: readonly ResolutionShare[];
}

/** Returns counts of others for a team that shares. It is taken off whether it was counted or not. */
export async function othersOf(
  deps: Pick<SharedDeps, 'db' | 'secrets'>,
  teamId: string,
  signatures: readonly string[],
): Promise<ReadonlyMap<string, Others>> {
  const names = new Map(signatures.map((name) => [keyOf(deps, name).toString('hex'), name]));
  const { sql } = deps.db;
  const rows = await sql<Array<{ key: string; teams: number; resolutions: readonly ResolutionShare[] }>>`
    select encode(x.key, 'hex') as key, x.teams, x.resolutions from shared_signatures x
    where x.key = any(array(select decode(k, 'hex') from unnest(${[...names.keys()]}::text[]) k))
      and exists (select from teams t where t.id = ${teamId} and t.share_failures)`;
  return new Map(
    rows.flatMap(({ key, teams, resolutions }): Array<[string, Others]> => {
      const name = names.get(key);
      const teamsAtLeast = STEPS.findLast((step) => step <= teams - 1);
      if (name === undefined || teamsAtLeast === undefined) return [];
      return [[name, { teamsAtLeast, resolutions: teams - 1 >= RESOLUTIONS_FROM ? resolutions : [] }]];
    }),
  );
}
