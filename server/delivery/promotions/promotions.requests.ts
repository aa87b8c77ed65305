/** Valid requests of each RPC, for the tests of the contract. */
import { environment } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const promotion = ({ environmentId, promotionId }: World) => ({ environmentId, promotionId });

export const requests: Requests = {
  'svc.promotions.v1.PromotionsService/List': { fields: environment, givesNothing: true },
  'svc.promotions.v1.PromotionsService/Get': { fields: promotion, givesNothing: true },
  'svc.promotions.v1.PromotionsService/Preview': { fields: promotion, givesNothing: true },
  'svc.promotions.v1.PromotionsService/Running': {
    fields: ({ projectId }) => ({ projectId }),
    givesNothing: true,
  },
  'svc.promotions.v1.PromotionsService/Create': {
    guards: 'nothing',
    fields: ({ environmentId, releaseId }) => ({ environmentId, releaseId }),
    givesNothing: true,
  },
  'svc.promotions.v1.PromotionsService/Approve': { fields: promotion, givesNothing: true },
  // Behind its approval: too late.
  'svc.promotions.v1.PromotionsService/Reject': {
    fields: (world) => ({ ...promotion(world), reason: 'not this one' }),
    status: 409,
    last: true,
    givesNothing: true,
  },
  'svc.promotions.v1.PromotionsService/Complete': {
    guards: 'nothing',
    fields: (world) => ({ ...promotion(world), status: 'deployed' }),
    last: true,
    givesNothing: true,
  },
};
