/** Valid requests of each RPC, for the tests of the contract. */
import { nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const space = ({ spaceId }: World) => ({ spaceId });

export const requests: Requests = {
  'svc.spaces.v1.SpacesService/AddProject': {
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Ai': {
    fields: (world) => ({ ...space(world), messages: [{ role: 'user', content: 'What is here?' }] }),
    status: 503,
  },
  'svc.spaces.v1.SpacesService/Create': { fields: () => ({ name: 'made by the matrix' }) },
  'svc.spaces.v1.SpacesService/Delete': { fields: space },
  'svc.spaces.v1.SpacesService/List': { fields: nothing },
  'svc.spaces.v1.SpacesService/Overview': { fields: space },
  'svc.spaces.v1.SpacesService/RemoveMember': {
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId }),
  },
  'svc.spaces.v1.SpacesService/RemoveProject': {
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Search': { fields: (world) => ({ ...space(world), query: 'matrix' }) },
  'svc.spaces.v1.SpacesService/SetMember': {
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId, role: 'viewer' }),
  },
  'svc.spaces.v1.SpacesService/Update': {
    fields: (world) => ({ ...space(world), description: 'seen by the matrix' }),
  },
};
