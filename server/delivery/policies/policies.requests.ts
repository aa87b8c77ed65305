/** Gives a valid request of each RPC to the tests of the contract. */
import { team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const policy = ({ teamId, policyId }: World) => ({ teamId, policyId });
const document = { on: ['deploy'], rules: [{ id: 'one', message: 'one', require: 'true' }] };

export const requests: Requests = {
  'svc.policies.v1.PoliciesService/List': { fields: team, gives: 'nothing' },
  'svc.policies.v1.PoliciesService/Get': { fields: policy, gives: 'nothing' },
  'svc.policies.v1.PoliciesService/Create': {
    fields: ({ teamId }) => ({ teamId, name: 'other', document }),
    gives: 'nothing',
  },
  'svc.policies.v1.PoliciesService/Check': {
    fields: ({ teamId }) => ({ teamId, document }),
    guards: 'nothing',
    gives: 'nothing',
  },
  'svc.policies.v1.PoliciesService/UpdateDocument': {
    statements: 13,
    fields: (world) => ({ ...policy(world), document }),
    gives: 'nothing',
  },
  'svc.policies.v1.PoliciesService/Enable': { fields: policy, gives: 'nothing' },
  'svc.policies.v1.PoliciesService/Disable': { fields: policy, gives: 'nothing' },
  'svc.policies.v1.PoliciesService/Simulate': { fields: policy, guards: 'nothing', gives: 'nothing' },
  'svc.policies.v1.PoliciesService/Decisions': { fields: policy, gives: 'nothing' },
};
