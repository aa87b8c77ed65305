/** Valid requests of each RPC, for the tests of the contract. */
import { team } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const policy = ({ teamId, policyId }: World) => ({ teamId, policyId });
const document = { on: ['deploy'], rules: [{ id: 'one', message: 'one', require: 'true' }] };

export const requests: Requests = {
  'svc.policies.v1.PoliciesService/List': { fields: team, givesNothing: true },
  'svc.policies.v1.PoliciesService/Get': { fields: policy, givesNothing: true },
  'svc.policies.v1.PoliciesService/Create': {
    fields: ({ teamId }) => ({ teamId, name: 'other', document }),
    givesNothing: true,
  },
  'svc.policies.v1.PoliciesService/UpdateDocument': {
    fields: (world) => ({ ...policy(world), document }),
    givesNothing: true,
  },
  'svc.policies.v1.PoliciesService/Enable': { fields: policy, givesNothing: true },
  'svc.policies.v1.PoliciesService/Disable': { fields: policy, givesNothing: true },
  'svc.policies.v1.PoliciesService/Simulate': { fields: policy, guards: 'nothing', givesNothing: true },
  'svc.policies.v1.PoliciesService/Decisions': { fields: policy, givesNothing: true },
};
