/**
 * A region says who operates the machines that run a team's work. There are few of them, made at the first
 * start; staff assign them to teams.
 */
import { asc, eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { RegionSchema, RegionsService } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import { shown } from '../../kit/resource/index.ts';
import { regions } from '../../kit/resource/schema.ts';

export type Region = typeof regions.$inferSelect;

function createRegions(): Handlers<Ctx> {
  return implement(RegionsService, {
    list: async (_request, { db }: Ctx) => {
      const rows = await db.orm.select().from(regions).orderBy(asc(regions.name), asc(regions.id));
      return { regions: rows.map((row) => shown(RegionSchema, row)) };
    },
  });
}

export async function insertRegion({ orm }: Database, region: Region): Promise<void> {
  await orm.insert(regions).values(region);
}

/** Throws `region_unknown`. */
export async function regionOf({ orm }: Database, id: string): Promise<Region> {
  const [row] = await orm.select().from(regions).where(eq(regions.id, id));
  if (row === undefined)
    throw apiError('region_unknown', 'no region has this id; list them with "svc regions list"');
  return row;
}

export const regionsFeature = declareFeature({
  name: 'regions',
  prefixes: ['reg'],
  owns: ['regions'],
  reads: ['regions'],
  start: () => ({ services: [createRegions()] }),
});
