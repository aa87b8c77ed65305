/** Valid requests of each RPC, for the tests of the contract. */
import { nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.projects.v1.ProjectsService/Create': {
    guards: 'nothing',
    fields: ({ teamId }) => ({ name: 'made by the matrix', teamId }),
  },
  'svc.projects.v1.ProjectsService/Delete': { fields: ({ projectId }) => ({ projectId }) },
  'svc.projects.v1.ProjectsService/Get': { fields: ({ projectId }) => ({ idOrSlug: projectId }) },
  'svc.projects.v1.ProjectsService/List': { fields: nothing },
};
