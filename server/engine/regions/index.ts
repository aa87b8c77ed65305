/** Regions: who operates the machines that run a team's work. There are few of them, made at the first start; staff assign them to teams. */
import { asc, eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { RegionSchema, RegionsService } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import { AdminTeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { findTeam, lockTeam, showTeam, updateTeam } from '../../access/teams/index.ts';
import type { TeamWork } from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import type { Feature } from '../../kit/feature.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { shown } from '../../kit/resource/index.ts';
import { regions } from '../../kit/resource/schema.ts';

export type Region = typeof regions.$inferSelect;

export function regionsFeature(work: TeamWork): Feature {
  return { services: [createRegions(), createAdminTeams(work)] };
}

function createRegions(): Handlers<Ctx> {
  return implement(RegionsService, {
    list: async (_request, { db }: Ctx) => {
      const rows = await db.orm.select().from(regions).orderBy(asc(regions.name), asc(regions.id));
      return { regions: rows.map((row) => shown(RegionSchema, row)) };
    },
  });
}

function createAdminTeams(work: TeamWork): Handlers<Ctx> {
  return implement(AdminTeamsService, {
    setRegion: async ({ teamId, regionId }, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        await lockTeam(db, teamId);
        const before = await findTeam(db, teamId);
        if (before === undefined) throw notFound('team');
        const { id, operator } = await regionOf(db, regionId);
        await updateTeam(db, teamId, { regionId: id });
        // Waiting work of the team follows its operator.
        await work.reroute(db, { id: teamId, operator });
        if (before.regionId !== id) {
          const details = { from: before.regionId, to: id, operator };
          const act = { action: 'team.region_assigned', target: teamId, details };
          await recordAct(db, ctx, { ...act, chain: teamId });
          await recordAct(db, ctx, { ...act, chain: PLATFORM_CHAIN }); // Acts of staff stand there too.
        }
        return showTeam({ ...before, regionId: id, operator }, ctx.teams.role(teamId));
      }),
  });
}

export async function insertRegion({ orm }: Database, region: Region): Promise<void> {
  await orm.insert(regions).values(region);
}

/** Throws `region_unknown`. */
async function regionOf({ orm }: Database, id: string): Promise<Region> {
  const [row] = await orm.select().from(regions).where(eq(regions.id, id));
  if (row === undefined)
    throw apiError('region_unknown', 'no region has this id; list them with "svc regions list"');
  return row;
}

export async function regionOfTeam({ sql }: Database, teamId: string): Promise<Region> {
  const [row] = await sql<Region[]>`
    select r.id, r.name, r.operator from teams t join regions r on r.id = t.region_id where t.id = ${teamId}`;
  if (row === undefined) throw new Error(`team ${teamId} is gone`);
  return row;
}
