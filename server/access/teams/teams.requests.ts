/** Valid requests of each RPC, for the tests of the contract. */
import { team, nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.teams.v1.AdminTeamsService/SetRegion': { fields: ({ teamId, regionId }) => ({ teamId, regionId }) },
  'svc.teams.v1.TeamsService/AcceptInvite': {
    guards: 'nothing',
    fields: () => ({ token: 'inv_unknown' }),
    status: 404,
    as: 'session',
  },
  'svc.teams.v1.TeamsService/ConfirmInvite': {
    fields: ({ teamId, inviteId }) => ({ teamId, inviteId }),
    status: 409, // nobody waits
  },
  'svc.teams.v1.TeamsService/Create': { guards: 'nothing', fields: () => ({ name: 'made by the matrix' }) },
  'svc.teams.v1.TeamsService/Billing': { givesNothing: true, fields: team },
  'svc.teams.v1.TeamsService/Delete': { fields: team },
  'svc.teams.v1.TeamsService/Get': { fields: team },
  'svc.teams.v1.TeamsService/InviteMember': {
    fields: ({ teamId }) => ({ teamId, email: 'guest@example.com' }),
  },
  'svc.teams.v1.TeamsService/List': { fields: nothing },
  'svc.teams.v1.TeamsService/ListInvites': { fields: team },
  'svc.teams.v1.TeamsService/ListMembers': { fields: team },
  'svc.teams.v1.TeamsService/RemoveMember': {
    fields: ({ teamId, memberId }) => ({ teamId, userId: memberId }),
  },
  'svc.teams.v1.TeamsService/RevokeInvite': { fields: ({ teamId, inviteId }) => ({ teamId, inviteId }) },
  'svc.teams.v1.TeamsService/Update': {
    fields: (world) => ({ ...team(world), description: 'seen by the matrix' }),
  },
  'svc.teams.v1.TeamsService/UpdateMemberRole': {
    fields: ({ teamId, memberId }) => ({ teamId, userId: memberId, role: 'developer' }),
  },
};
