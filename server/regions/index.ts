/** Regions: who operates the machines that run a team's work. Few rows, made by the bootstrap. */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { Operator as OperatorNumber, RegionsService } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import type { Ctx } from '../platform/context.ts';
import type { Database } from '../platform/db/index.ts';

export type Operator = 'service' | 'customer';

export interface Region {
  readonly id: string;
  readonly name: string;
  readonly operator: Operator;
}

const OPERATORS: Readonly<Record<Operator, OperatorNumber>> = {
  service: OperatorNumber.SERVICE,
  customer: OperatorNumber.CUSTOMER,
};

export function operatorNumber(operator: Operator): OperatorNumber {
  return OPERATORS[operator];
}

export function createRegions(): Handlers<Ctx> {
  return implement(RegionsService, {
    list: async (_request, ctx: Ctx) => ({ regions: (await listRegions(ctx.db)).map(present) }),
  });
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

/** Where a new team begins: the first region that the service operates. */
export async function defaultRegion({ sql }: Database): Promise<Region> {
  const [row] = await sql<
    Region[]
  >`select id, name, operator from regions where operator = 'service' order by id limit 1`;
  if (row === undefined)
    throw new Error('no region is operated by the service: the first start did not finish');
  return row;
}

function present(region: Region) {
  return { id: region.id, name: region.name, operator: operatorNumber(region.operator) };
}
