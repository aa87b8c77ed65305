/** Valid requests of each RPC, for the tests of the contract. */
import { environment } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.residency.v1.ResidencyService/AttestArtifact': {
    givesNothing: true,
    fields: ({ teamId, artifactId }) => ({ teamId, artifactId }),
  },
  'svc.residency.v1.ResidencyService/ListForArtifact': {
    givesNothing: true,
    fields: ({ teamId, artifactId }) => ({ teamId, artifactId }),
  },
  'svc.residency.v1.ResidencyService/AttestEnvironment': { fields: environment },
  'svc.residency.v1.ResidencyService/ListForEnvironment': { fields: environment },
};
