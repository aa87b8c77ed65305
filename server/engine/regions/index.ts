/** Regions: who operates the machines that run a team's work. */
import type { TeamWork } from '../../access/teams/index.ts';
import type { Feature } from '../../platform/feature.ts';
import { createAdminTeams } from './assign-region.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { Operator as OperatorNumber, RegionsService } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Operator } from '../../platform/resource/schema.ts';
import { listRegions } from './store.ts';
import type { Region } from './store.ts';

export { insertRegion, regionOfTeam } from './store.ts';

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

function present(region: Region) {
  return { id: region.id, name: region.name, operator: operatorNumber(region.operator) };
}

export function regionsFeature(work: TeamWork): Feature {
  return { services: [createRegions(), createAdminTeams({ work })] };
}
