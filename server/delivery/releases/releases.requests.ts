/** Gives a valid request of each RPC to the tests of the contract. */
import { team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const project = ({ projectId }: World) => ({ projectId });

export const requests: Requests = {
  'svc.releases.v1.ReleasesService/List': { fields: project, gives: 'nothing' },
  'svc.releases.v1.ReleasesService/ListForTeam': { fields: team, gives: 'nothing' },
  'svc.releases.v1.ReleasesService/Get': {
    fields: ({ projectId, releaseId }) => ({ projectId, releaseId }),
    gives: 'nothing',
  },
  'svc.releases.v1.ReleasesService/Create': {
    statements: 17,
    guards: 'nothing',
    fields: ({ projectId, artifactId }) => ({ projectId, version: '2.0', artifactIds: [artifactId] }),
    gives: 'nothing',
  },
};
