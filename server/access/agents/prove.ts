/** Proves the key of an agent. */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { endOfKey, secretMatches, type KeyParts } from '../apikeys/index.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { Caller } from '../../kit/context.ts';

interface KeyRow {
  readonly id: string;
  readonly digest: Uint8Array;
  /** It is the end of the API key that it was issued with, when that comes earlier. */
  readonly expiresAt: Date;
  readonly agentId: string;
  readonly teamId: string;
  readonly name: string;
  readonly permissions: readonly string[];
}

export interface ProvenAgent {
  readonly caller: Caller;
  readonly expiresAtMs: number;
  readonly storedUseAt: undefined;
}

/**
 * Returns undefined for a key that is not good (any more). The scopes of the caller are the agent's
 * permissions, and its role is that of a developer, so that guards of environments hold for it.
 */
export async function proveAgent(
  { db: { sql }, clock }: { readonly db: Database; readonly clock: Clock },
  pepper: Uint8Array,
  { kid, secret }: KeyParts,
): Promise<ProvenAgent | undefined> {
  const [row] = await sql<KeyRow[]>`
    select k.id, k.digest, a.id as "agentId", a.team_id as "teamId", a.name, a.permissions,
      case when k.issued_with is null then k.expires_at
        else least(k.expires_at, coalesce(${endOfKey(sql, sql`k.issued_with`)}, 'epoch')) end as "expiresAt"
    from agent_keys k join agents a on a.team_id = k.team_id and a.id = k.agent_id
    where k.kid = ${kid} and k.revoked_at is null and a.enabled`;
  const matches = secretMatches(pepper, secret, row?.digest);
  if (!matches || row === undefined || row.expiresAt <= clock.now()) return undefined;
  const caller: Caller = {
    kind: 'agent',
    userId: row.agentId,
    credentialId: row.id,
    names: { username: row.name, email: '' },
    staff: false,
    scopes: new Set(row.permissions),
    memberships: new Map([[row.teamId, 'developer']]),
    onlyTeamId: row.teamId,
  };
  return { caller, expiresAtMs: row.expiresAt.getTime(), storedUseAt: undefined };
}
