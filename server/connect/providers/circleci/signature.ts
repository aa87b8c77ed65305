import { anyMatches, digestId, hexDigest, hmac, NO_SECRET, refuse, usable } from '../authenticate.ts';
import { at, header, idOf } from '../read.ts';
import type { Provider } from '../types.ts';

/** Verifies `v1=<hex>,v2=…`. The newest known version is v1, and the others are not looked at. */
export const verify: Provider['verify'] = ({ secrets, headers, rawBody }) => {
  const usableSecrets = usable(secrets);
  if (usableSecrets.length === 0) return NO_SECRET;
  const versions = (header(headers, 'circleci-signature') ?? '').split(',').map((part) => part.trim());
  const given = versions.filter((version) => version.startsWith('v1='));
  const digest = given.length === 1 ? hexDigest(given[0]?.slice(3)) : undefined;
  if (digest === undefined) return refuse('circleci-signature has not one v1');
  return anyMatches(usableSecrets, digest, (secret) => hmac(secret, rawBody));
};

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody, payload) =>
  idOf(at(payload(), 'id')) ?? digestId(rawBody);
