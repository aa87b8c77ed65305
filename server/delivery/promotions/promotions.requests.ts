/** Gives a valid request of each RPC to the tests of the contract. */
import { environment, team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const promotion = ({ environmentId, promotionId }: World) => ({ environmentId, promotionId });

export const requests: Requests = {
  'svc.promotions.v1.PromotionsService/ListForTeam': { fields: team, gives: 'nothing' },
  'svc.promotions.v1.PromotionsService/List': { statements: 8, fields: environment, gives: 'nothing' },
  'svc.promotions.v1.PromotionsService/Get': { fields: promotion, gives: 'nothing' },
  'svc.promotions.v1.PromotionsService/Preview': { statements: 7, fields: promotion, gives: 'nothing' },
  'svc.promotions.v1.PromotionsService/Running': {
    fields: ({ projectId }) => ({ projectId }),
    gives: 'nothing',
  },
  'svc.promotions.v1.PromotionsService/Create': {
    statements: 30,
    guards: 'nothing',
    fields: ({ environmentId, releaseId }) => ({ environmentId, releaseId }),
    gives: 'nothing',
  },
  'svc.promotions.v1.PromotionsService/Approve': { statements: 33, fields: promotion, gives: 'nothing' },
  // It comes behind its approval, which is too late.
  'svc.promotions.v1.PromotionsService/Reject': {
    fields: (world) => ({ ...promotion(world), reason: 'not this one' }),
    status: 409,
    last: 1,
    gives: 'nothing',
  },
  'svc.promotions.v1.PromotionsService/Complete': {
    guards: 'nothing',
    fields: (world) => ({ ...promotion(world), status: 'deployed' }),
    last: 1,
    gives: 'nothing',
  },
};
