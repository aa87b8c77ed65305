/** Spaces as the contract shows them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { SearchKind, SpaceKind as SpaceKindNumber } from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import { roleNumber } from '../../platform/scopes.ts';
import type { Found, FoundKind } from './contents.ts';
import type { Space, SpaceKind, SpaceMember } from './store.ts';

export function presentSpace({ avatarUrl, kind, role, createdAt, updatedAt, ...rest }: Space) {
  return {
    ...rest,
    ...(avatarUrl === null ? {} : { avatarUrl }),
    kind: kind === 'personal' ? SpaceKindNumber.PERSONAL : SpaceKindNumber.ORGANIZATION,
    role: roleNumber(role),
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromDate(updatedAt),
  };
}

export function presentMember({ role, joinedAt, ...rest }: SpaceMember) {
  return { ...rest, role: roleNumber(role), joinedAt: timestampFromDate(joinedAt) };
}

export function presentFound({ kind, ...rest }: Found) {
  return { ...rest, kind: kind === 'project' ? SearchKind.PROJECT : SearchKind.ENVIRONMENT };
}

export function spaceKindWord(kind: SpaceKindNumber): SpaceKind {
  return kind === SpaceKindNumber.PERSONAL ? 'personal' : 'organization';
}

/** None given: all. */
export function foundKinds(kinds: readonly SearchKind[]): readonly FoundKind[] {
  if (kinds.length === 0) return ['project', 'environment'];
  return kinds.map((kind) => (kind === SearchKind.PROJECT ? 'project' : 'environment'));
}
