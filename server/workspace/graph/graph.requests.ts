/** Gives a valid request of each RPC to the tests of the contract. */
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const ref = ({ environmentId }: World) => ({ ref: `graph:environment:${environmentId}` });

export const requests: Requests = {
  'svc.graph.v1.GraphService/Commit': { gives: 'nothing', fields: ({ commitSha }) => ({ sha: commitSha }) },
  'svc.graph.v1.GraphService/Edges': {
    statements: 25,
    gives: 'nothing',
    fields: (world) => ({ ...ref(world), depth: 3 }),
  },
  'svc.graph.v1.GraphService/Node': { gives: 'nothing', fields: ref },
};
