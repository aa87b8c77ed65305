/** Regions: few rows, made by the bootstrap. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Operator } from '../../platform/resource/schema.ts';

export interface Region {
  readonly id: string;
  readonly name: string;
  readonly operator: Operator;
}

export async function listRegions({ sql }: Database): Promise<readonly Region[]> {
  return await sql<Region[]>`select id, name, operator from regions order by name, id`;
}

export async function insertRegion({ sql }: Database, region: Region): Promise<void> {
  await sql`insert into regions (id, name, operator) values (${region.id}, ${region.name}, ${region.operator})`;
}

/** Throws `region_unknown`. */
export async function getRegion({ sql }: Database, id: string): Promise<Region> {
  const [row] = await sql<Region[]>`select id, name, operator from regions where id = ${id}`;
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
