/**
 * Finds out which statements gates read. Of several that tell a policy the same they read one, and of those
 * that nobody whom the team trusts signed they read none: so that nobody who may state things fills what a
 * gate may read. This is found out once, when a statement comes or when a key is trusted; what a statement is
 * worth is found out at each read all the same.
 */
import { createHash } from 'node:crypto';
import type { Statement } from './envelope.ts';
import { builderOf } from './facts.ts';
import { isEvaluation, PROVENANCE_TYPE } from './statement.ts';
import type { Verified } from './verify.ts';

const SERVICE_KEY_PREFIX = 'sgk_';

/** Names an evaluation that a member stated: the newest of each account and suite counts. */
export const evaluationCountsAs = (userId: string, suiteId: string): string =>
  `${userId} ${shortHash(suiteId)}`;

/**
 * Answers what an upload counts as. Null: it counts in no gate. A copy of what the service signed does not:
 * what it says of this team's artifacts is there already, and what it says for another team, whose runners
 * and members may say anything, is nothing that this team believes.
 */
export function uploadCountsAs({ status, keyId, statement }: Verified): string | null {
  if (status !== 'valid' || keyId === undefined || statement === undefined) return null;
  if (keyId.startsWith(SERVICE_KEY_PREFIX)) return null;
  return `${keyId} ${shortHash(toldOf(statement))}`;
}

/**
 * Makes the key of what was brought with a trusted signature: the same in other bytes is no other statement,
 * and the signature says nothing about white space around it.
 */
export const signedKey = (digest: string, { keyId = '' }: Verified, payloadSha256: string): string =>
  `signed:${digest}:${keyId}:${payloadSha256}`;

/** Answers what a policy is told of a statement beside its type and who signed it. */
function toldOf(statement: Statement): string {
  const { predicateType, json } = statement;
  if (predicateType === PROVENANCE_TYPE) return builderOf(statement);
  const { suiteId } = (json['predicate'] ?? {}) as { readonly suiteId?: unknown };
  return isEvaluation(predicateType) && typeof suiteId === 'string' ? suiteId : '';
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
