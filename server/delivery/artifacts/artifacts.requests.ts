/** Valid requests of each RPC, for the tests of the contract. */
import { team } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const artifact = ({ teamId, artifactId }: World) => ({ teamId, artifactId });

export const requests: Requests = {
  'svc.artifacts.v1.ArtifactsService/List': { fields: team },
  'svc.artifacts.v1.ArtifactsService/Get': { fields: artifact },
  'svc.artifacts.v1.ArtifactsService/Declare': {
    fields: ({ teamId }) => ({ teamId, name: 'assets', kind: 'package', digest: `sha256:${'b'.repeat(64)}` }),
  },
  'svc.artifacts.v1.ArtifactsService/Attestations': { fields: artifact },
  'svc.artifacts.v1.ArtifactsService/Upload': {
    fields: (world) => ({ ...artifact(world), bundle: '{"messageSignature":{}}' }),
    status: 400,
  },
};
