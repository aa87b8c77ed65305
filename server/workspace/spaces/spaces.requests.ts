/** Valid requests of each RPC, for the tests of the contract. */
import { nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const space = ({ spaceId }: World) => ({ spaceId });

export const requests: Requests = {
  'svc.spaces.v1.SpacesService/AddProject': {
    guards: 'nothing',
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Ai': {
    guards: 'nothing',
    fields: (world) => ({ ...space(world), messages: [{ role: 'user', content: 'What is here?' }] }),
    status: 503,
  },
  'svc.spaces.v1.SpacesService/Create': { guards: 'nothing', fields: () => ({ name: 'made by the matrix' }) },
  'svc.spaces.v1.SpacesService/Delete': { guards: 'nothing', fields: space },
  'svc.spaces.v1.SpacesService/List': { fields: nothing },
  'svc.spaces.v1.SpacesService/Overview': { fields: space },
  'svc.spaces.v1.SpacesService/RemoveMember': {
    guards: 'nothing',
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId }),
  },
  'svc.spaces.v1.SpacesService/RemoveProject': {
    guards: 'nothing',
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Search': { fields: (world) => ({ ...space(world), query: 'matrix' }) },
  'svc.spaces.v1.SpacesService/SetMember': {
    guards: 'nothing',
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId, role: 'viewer' }),
  },
  'svc.spaces.v1.SpacesService/Update': {
    guards: 'nothing',
    fields: (world) => ({ ...space(world), description: 'seen by the matrix' }),
  },
};
