/** Gives a valid request of each RPC to the tests of the contract. */
import { ATTEMPT, nothing, type Requests } from '../../../test/contract/requests.ts';
import { ROLES } from '../../kit/scopes.ts';
import type { World } from '../../../test/contract/world.ts';

const space = ({ spaceId }: World) => ({ spaceId });

/** It gives nothing to anybody, and changes nothing that is guarded. */
const NOTHING = { gives: 'nothing', guards: 'nothing' } as const;

export const requests: Requests = {
  'svc.spaces.v1.SpacesService/AddProject': {
    ...NOTHING,
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Ai': {
    ...NOTHING,
    fields: (world) => ({ ...space(world), messages: [{ role: 'user', content: 'What is here?' }] }),
    status: 503,
  },
  'svc.spaces.v1.SpacesService/Create': {
    gives: {
      what: 'roles in a space, which grant nothing on a team',
      bound: 'a key gives no owner or admin, and only what it may do in spaces itself',
      attempts: ({ memberId }) =>
        ROLES.map((role) => ({ name: ATTEMPT, members: [{ userId: memberId, role }] })),
    },
    guards: 'nothing',
    fields: () => ({ name: 'made by the matrix' }),
  },
  'svc.spaces.v1.SpacesService/Delete': { last: 4, ...NOTHING, fields: space },
  'svc.spaces.v1.SpacesService/List': { gives: 'nothing', fields: nothing },
  'svc.spaces.v1.SpacesService/Overview': { gives: 'nothing', fields: space },
  'svc.spaces.v1.SpacesService/RemoveMember': {
    last: 3,
    ...NOTHING,
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId }),
  },
  'svc.spaces.v1.SpacesService/RemoveProject': {
    last: 2,
    ...NOTHING,
    fields: ({ spaceId, projectId }) => ({ spaceId, projectId }),
  },
  'svc.spaces.v1.SpacesService/Search': {
    gives: 'nothing',
    fields: (world) => ({ ...space(world), query: 'matrix' }),
  },
  'svc.spaces.v1.SpacesService/SetMember': {
    gives: {
      what: 'a role in a space, which grants nothing on a team',
      bound:
        'a key gives no owner or admin, and only what it may do in spaces itself; nobody gives a role above the own one',
      attempts: ({ spaceId, memberId }) => ROLES.map((role) => ({ spaceId, userId: memberId, role })),
    },
    guards: 'nothing',
    fields: ({ spaceId, memberId }) => ({ spaceId, userId: memberId, role: 'viewer' }),
  },
  'svc.spaces.v1.SpacesService/Update': {
    ...NOTHING,
    fields: (world) => ({ ...space(world), description: 'seen by the matrix' }),
  },
};
