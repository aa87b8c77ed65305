/** Gives a valid request of each RPC to the tests of the contract. */
import { environment, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const artifact = ({ teamId, artifactId }: World) => ({ teamId, artifactId });

export const requests: Requests = {
  'svc.residency.v1.ResidencyService/AttestArtifact': { gives: 'nothing', fields: artifact },
  'svc.residency.v1.ResidencyService/ListForArtifact': { gives: 'nothing', fields: artifact },
  'svc.residency.v1.ResidencyService/AttestEnvironment': { gives: 'nothing', fields: environment },
  'svc.residency.v1.ResidencyService/ListForEnvironment': { gives: 'nothing', fields: environment },
};
