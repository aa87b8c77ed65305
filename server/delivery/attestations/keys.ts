/** All keys whose signatures count for the teams of a call. */
import { rowsOf } from '../../kit/resource/index.ts';
import type { RowOf, Who } from '../../kit/resource/index.ts';
import { publicKeyOf, readKeys } from '../signingkeys/index.ts';
import { trustedIdentities } from './schema.ts';
import type { trustedKeys } from './schema.ts';
import type { TrustRoot } from './trust-root.ts';
import type { Keys, TrustedKey } from './verify.ts';

const identityRows = rowsOf(trustedIdentities);

export async function keysFor(
  who: Who,
  { now, root }: { readonly now: Date; readonly root?: TrustRoot | undefined },
): Promise<Keys> {
  const [service, trusted, identities] = await Promise.all([
    readKeys(who.db, now),
    readTrusted(who),
    root === undefined ? [] : identityRows.list(who, { by: trustedIdentities.name }),
  ]);
  return { service, trusted, identities, root };
}

async function readTrusted({ db: { sql }, teams }: Who): Promise<readonly TrustedKey[]> {
  const found = await sql<Array<Omit<TrustedKey, 'publicKey'> & Pick<RowOf<typeof trustedKeys>, 'spki'>>>`
    select id, name, hint, spki, predicate_types as "predicateTypes" from trusted_keys
    where team_id = any(${teams.teamIds}::text[]) order by name, id`;
  return found.map((row) => ({ ...row, publicKey: publicKeyOf(row.spki) }));
}
