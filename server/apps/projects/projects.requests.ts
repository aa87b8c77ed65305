/** The tests of the contract send these requests, one for each RPC. */
import { nothing, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.projects.v1.ProjectsService/Create': {
    gives: 'nothing',
    guards: 'nothing',
    fields: ({ teamId }) => ({ name: 'made by the matrix', teamId }),
  },
  'svc.projects.v1.ProjectsService/Delete': {
    last: 7,
    gives: 'nothing',
    fields: ({ projectId }) => ({ projectId }),
  },
  'svc.projects.v1.ProjectsService/Get': {
    gives: 'nothing',
    fields: ({ projectId }) => ({ idOrSlug: projectId }),
  },
  'svc.projects.v1.ProjectsService/List': { gives: 'nothing', fields: nothing },
};
