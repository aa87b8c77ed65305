/** Valid requests of each RPC, for the tests of the contract. */
import { environment } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.environments.v1.EnvironmentsService/Create': {
    fields: ({ projectId }) => ({ projectId, name: 'made-by-matrix' }),
  },
  'svc.environments.v1.EnvironmentsService/Delete': { fields: environment },
  'svc.environments.v1.EnvironmentsService/Get': { fields: environment },
  'svc.environments.v1.EnvironmentsService/List': { fields: ({ projectId }) => ({ projectId }) },
  'svc.environments.v1.EnvironmentsService/Update': {
    fields: (world) => ({ ...environment(world), branch: 'next' }),
  },
};
