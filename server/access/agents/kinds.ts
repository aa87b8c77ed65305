/** The kind of an agent is the most that its permissions may be. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { agents } from './schema.ts';

type Kind = (typeof agents.$inferSelect)['kind'];

const READS = ['team:read', 'project:read', 'run:read', 'runner:read', 'ci:read'] as const;

/** The contract marks the scopes that agents may hold, and a test compares these with them. */
export const PERMISSIONS: Readonly<Record<Kind, readonly string[]>> = {
  review: READS,
  coding: [...READS, 'run:write'],
  maintenance: [...READS, 'project:write'],
  operations: [...READS, 'ci:write'],
  custom: [...READS, 'run:write', 'project:write', 'ci:write'],
};

/** Throws `permission_beyond_kind`. */
export function refuseBeyond(kind: Kind, permissions: readonly string[]): void {
  const allowed = PERMISSIONS[kind];
  const beyond = permissions.filter((scope) => !allowed.includes(scope));
  if (beyond.length === 0) return;
  throw apiError(
    'permission_beyond_kind',
    `an agent of the kind ${kind} cannot hold ${beyond.join(', ')}; allowed are ${allowed.join(', ')}`,
    { details: { kind, permissions: beyond, allowed } },
  );
}
