/** Teams, members and invitations as the contract shows them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { TeamKind } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Role } from '../../platform/context.ts';
import { roleNumber } from '../../platform/scopes.ts';
import { OperatorSchema } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import { enumNumber } from '../../platform/resource/shown.ts';
import type { Invite } from './invites.ts';
import type { Member, Team } from './store.ts';

export function presentTeam(team: Team, role: Role | undefined) {
  return {
    id: team.id,
    name: team.name,
    description: team.description,
    ...(team.avatarUrl === null ? {} : { avatarUrl: team.avatarUrl }),
    kind: team.kind === 'personal' ? TeamKind.PERSONAL : TeamKind.ORGANIZATION,
    regionId: team.regionId,
    operator: enumNumber(OperatorSchema, team.operator),
    ...(role === undefined ? {} : { role: roleNumber(role) }),
    createdAt: timestampFromDate(team.createdAt),
  };
}

export function presentMember(member: Member) {
  return {
    userId: member.userId,
    email: member.email,
    emailVerified: member.emailVerified,
    username: member.username,
    role: roleNumber(member.role),
    joinedAt: timestampFromDate(member.joinedAt),
  };
}

export function presentInvite(invite: Invite) {
  return {
    id: invite.id,
    email: invite.email,
    role: roleNumber(invite.role),
    expiresAt: timestampFromDate(invite.expiresAt),
    createdAt: timestampFromDate(invite.createdAt),
    ...(invite.awaiting === undefined
      ? {}
      : { awaiting: { ...invite.awaiting, since: timestampFromDate(invite.awaiting.since) } }),
  };
}
