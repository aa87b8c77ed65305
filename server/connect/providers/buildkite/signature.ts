import {
  anyMatches,
  digestId,
  hexDigest,
  hmac,
  isFresh,
  NO_SECRET,
  refuse,
  usable,
  verifyToken,
} from '../authenticate.ts';
import { header } from '../read.ts';
import type { Provider } from '../types.ts';

/** A token is enough only for connections that were set up with one. */
export const verify: Provider['verify'] = (delivery) => {
  const { secrets, scheme, headers, rawBody, now } = delivery;
  if (scheme === 'token') return verifyToken(delivery, 'X-Buildkite-Token');
  const usableSecrets = usable(secrets);
  if (usableSecrets.length === 0) return NO_SECRET;
  const value = header(headers, 'X-Buildkite-Signature') ?? '';
  const [, timestamp = '', hex] =
    /^timestamp=(\d{1,12}),\s*signature=([0-9a-f]{64})$/i.exec(value.trim()) ?? [];
  const given = hexDigest(hex);
  if (given === undefined) return refuse('X-Buildkite-Signature is not timestamp=…,signature=…');
  if (!isFresh(Number(timestamp) * 1_000, now)) return refuse('its timestamp is not within 5 minutes');
  return anyMatches(usableSecrets, given, (secret) => hmac(secret, `${timestamp}.`, rawBody));
};

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody) => digestId(rawBody);
