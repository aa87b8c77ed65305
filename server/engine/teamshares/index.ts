/** Staff set shares of teams in the service's own pool, and work/turns.ts goes by them. */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  PoolSharesSchema,
  TeamSharesService,
  type PoolShares,
  type SetRequest,
  type Share,
} from '@svc/proto/gen/svc/teamshares/v1/teamshares_pb.ts';
import { findTeam, lockTeam, teamsFeature } from '../../access/teams/index.ts';
import { workFeature } from '../work/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { shown } from '../../kit/resource/index.ts';

interface ShareRow {
  readonly kind: 'run' | 'build';
  readonly weight: number;
  readonly maxRunning: number | null;
}

const DEFAULT_WEIGHT = 1;

function createTeamShares(): Handlers<Ctx> {
  return implement(TeamSharesService, {
    get: async ({ teamId }, { db }: Ctx) => {
      await requireTeamRow(db, teamId);
      return await sharesOf(db, teamId);
    },
    set: async (request, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        const { teamId } = request;
        await lockTeam(db, teamId);
        await requireTeamRow(db, teamId);
        const rows = [rowOf('run', request.runs), rowOf('build', request.builds)];
        await setShares(db, teamId, rows);
        const details = { shares: rows };
        const act = { action: 'team_shares.set', target: teamId, details };
        await recordAct(db, ctx, { ...act, chain: teamId });
        await recordAct(db, ctx, { ...act, chain: PLATFORM_CHAIN }); // Acts of staff stand there too.
        return await sharesOf(db, teamId);
      }),
  });
}

async function requireTeamRow(db: Database, teamId: string): Promise<void> {
  if ((await findTeam(db, teamId)) === undefined) throw notFound('team');
}

const rowOf = (kind: ShareRow['kind'], share: SetRequest['runs'] | Share): ShareRow => ({
  kind,
  weight: share?.weight ?? DEFAULT_WEIGHT,
  maxRunning: share?.maxRunning ?? null,
});

async function sharesOf({ sql }: Database, teamId: string): Promise<PoolShares> {
  const rows = await sql<ShareRow[]>`
    select kind, weight, max_running as "maxRunning" from team_shares where team_id = ${teamId}`;
  const of = (kind: ShareRow['kind']) =>
    rows.find((row) => row.kind === kind) ?? { weight: DEFAULT_WEIGHT, maxRunning: null };
  return shown(PoolSharesSchema, { teamId, runs: of('run'), builds: of('build') });
}

/** Stores shares, with the weights of the turns that the team waits for already. */
async function setShares({ sql }: Database, teamId: string, rows: readonly ShareRow[]): Promise<void> {
  await sql`
    with given as (
      select * from unnest(${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ weight }) => weight)}::int[],
        ${rows.map(({ maxRunning }) => maxRunning)}::int[]) g(kind, weight, max_running)
    ),
    kept as (
      insert into team_shares (team_id, kind, weight, max_running) select ${teamId}, g.kind, g.weight, g.max_running from given g
      on conflict (team_id, kind) do update set weight = excluded.weight, max_running = excluded.max_running
    )
    update pool_turns t set weight = g.weight from given g where t.team_id = ${teamId} and t.kind = g.kind`;
}

export const teamSharesFeature = declareFeature({
  name: 'teamshares',
  on: { teams: teamsFeature, work: workFeature },
  start: () => ({ services: [createTeamShares()] }),
});
