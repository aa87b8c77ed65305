/** All keys whose signatures count for the teams of a call. */
import { rowsOf, type Who } from '../../kit/resource/index.ts';
import { publicKeyOf, readKeys } from '../signingkeys/index.ts';
import { trustedIdentities, trustedKeys } from './schema.ts';
import type { TrustRoot } from './trust-root.ts';
import type { Keys } from './verify.ts';

const keyRows = rowsOf(trustedKeys);
const identityRows = rowsOf(trustedIdentities);

export async function keysFor(
  who: Who,
  { now, root }: { readonly now: Date; readonly root?: TrustRoot | undefined },
): Promise<Keys> {
  const [service, trusted, identities] = await Promise.all([
    readKeys(who.db, now),
    keyRows.list(who, { by: trustedKeys.name }),
    root === undefined ? [] : identityRows.list(who, { by: trustedIdentities.name }),
  ]);
  const parsed = trusted.map((key) => ({ ...key, publicKey: publicKeyOf(key.spki) }));
  return { service, trusted: parsed, identities, root };
}
