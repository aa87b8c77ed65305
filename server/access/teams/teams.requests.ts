/** The tests of the contract send these requests, one for each RPC. */
import { ATTEMPT, nothing, team, type Requests } from '../../../test/contract/requests.ts';
import { ROLES } from '../../kit/scopes.ts';

const email = (role: string): string => `${ATTEMPT}-${role}@example.com`;

export const requests: Requests = {
  'svc.teams.v1.AdminTeamsService/List': { gives: 'nothing', fields: nothing },
  'svc.teams.v1.AdminTeamsService/SetRegion': {
    gives: 'nothing',
    fields: ({ teamId, regionId }) => ({ teamId, regionId }),
  },
  'svc.teams.v1.TeamsService/AcceptInvite': {
    gives: {
      what: 'the membership that was offered',
      bound:
        'a session of the invited address, never a key; a new account is unverified; an unverified one waits for the team',
      story: 'server/access/teams/unverified.api.test.ts',
    },
    guards: 'nothing',
    fields: () => ({ token: 'inv_unknown' }),
    status: 404,
    as: 'session',
  },
  'svc.teams.v1.TeamsService/ConfirmInvite': {
    gives: {
      what: 'the membership that was offered',
      bound: 'as InviteMember, by an admin or owner of the inviting team',
      story: 'server/access/teams/unverified.api.test.ts',
    },
    fields: ({ teamId, inviteId }) => ({ teamId, inviteId }),
    status: 409, // nobody waits
  },
  'svc.teams.v1.TeamsService/Create': {
    statements: 15,
    gives: {
      what: 'a new team to the own account, and invitations to it',
      bound:
        'the team is empty and the account’s own, and a key narrowed to a team founds none; invitations as InviteMember',
      attempts: () => ROLES.map((role) => ({ name: ATTEMPT, members: [{ email: email(role), role }] })),
    },
    guards: 'nothing',
    fields: () => ({ name: 'made by the matrix' }),
  },
  'svc.teams.v1.TeamsService/Billing': { statements: 9, gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/Delete': { statements: 13, last: 10, gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/EndMemberSessions': {
    last: 6,
    gives: 'nothing',
    fields: ({ teamId, memberId }) => ({ teamId, userId: memberId }),
  },
  'svc.teams.v1.TeamsService/Get': { gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/InviteMember': {
    gives: {
      what: 'an invitation',
      bound:
        'owners and admins by sessions alone; a key only when it holds all scopes of the role; nobody above the own role; ends with its maker’s standing and key',
      attempts: ({ teamId }) => ROLES.map((role) => ({ teamId, email: email(role), role })),
    },
    fields: ({ teamId }) => ({ teamId, email: 'guest@example.com' }),
  },
  'svc.teams.v1.TeamsService/Inbox': { gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/Overview': { statements: 16, gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/Search': {
    gives: 'nothing',
    fields: (world) => ({ ...team(world), text: 'a' }),
  },
  'svc.teams.v1.TeamsService/List': { gives: 'nothing', fields: nothing },
  'svc.teams.v1.TeamsService/ListInvites': { gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/ListMembers': { gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/RemoveMember': {
    last: 9,
    // It ends keys and approvals of the person, those of agents too.
    statements: 12,
    gives: 'nothing',
    fields: ({ teamId, memberId }) => ({ teamId, userId: memberId }),
  },
  'svc.teams.v1.TeamsService/RevokeInvite': {
    last: 8,
    gives: 'nothing',
    fields: ({ teamId, inviteId }) => ({ teamId, inviteId }),
  },
  'svc.teams.v1.TeamsService/ListFailureSignatures': { gives: 'nothing', fields: team },
  'svc.teams.v1.TeamsService/SetFailureSignatureSharing': {
    gives: 'nothing',
    fields: (world) => ({ ...team(world), enabled: true }),
  },
  'svc.teams.v1.TeamsService/Update': {
    gives: 'nothing',
    fields: (world) => ({ ...team(world), description: 'seen by the matrix' }),
  },
  'svc.teams.v1.TeamsService/UpdateMemberRole': {
    gives: {
      what: 'a role',
      bound:
        'owners and admins by sessions alone; a key only when it holds all scopes of the role; nobody above the own role',
      attempts: ({ teamId, memberId }) => ROLES.map((role) => ({ teamId, userId: memberId, role })),
    },
    fields: ({ teamId, memberId }) => ({ teamId, userId: memberId, role: 'developer' }),
  },
};
