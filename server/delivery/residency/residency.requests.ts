/** Gives a valid request of each RPC to the tests of the contract. */
import { environment } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.residency.v1.ResidencyService/AttestArtifact': {
    gives: 'nothing',
    fields: ({ teamId, artifactId }) => ({ teamId, artifactId }),
  },
  'svc.residency.v1.ResidencyService/ListForArtifact': {
    gives: 'nothing',
    fields: ({ teamId, artifactId }) => ({ teamId, artifactId }),
  },
  'svc.residency.v1.ResidencyService/AttestEnvironment': { gives: 'nothing', fields: environment },
  'svc.residency.v1.ResidencyService/ListForEnvironment': { gives: 'nothing', fields: environment },
};
