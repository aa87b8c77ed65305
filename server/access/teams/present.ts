/** Teams and members as messages. */
import { MemberSchema, TeamSchema } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Team as TeamMessage } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Role } from '../../kit/context.ts';
import { shown } from '../../kit/resource/index.ts';
import type { Member, Team } from './store.ts';

/** The team as somebody with this role in it sees it. */
export function showTeam(team: Team, role: Role | undefined): TeamMessage {
  return shown(TeamSchema, { ...team, role });
}

export const showMember = (member: Member) => shown(MemberSchema, member);
