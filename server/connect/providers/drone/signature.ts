import {
  anyMatches,
  base64Digest,
  digestId,
  hmac,
  isFresh,
  NO_SECRET,
  refuse,
  sameSecret,
  sha256,
  usable,
} from '../authenticate.ts';
import { header } from '../read.ts';
import type { Provider } from '../types.ts';

/**
 * The signature is over the headers `date` and `digest` and not over the body, so both must be among the
 * signed ones, and the digest is computed again over the bytes that came.
 */
export const verify: Provider['verify'] = ({ secrets, headers, rawBody, now }) => {
  const usableSecrets = usable(secrets);
  if (usableSecrets.length === 0) return NO_SECRET;
  const [date, digest] = [header(headers, 'Date') ?? '', header(headers, 'Digest') ?? ''];
  const parameters = parametersOf(header(headers, 'Signature') ?? '');
  if (parameters?.get('algorithm') !== 'hmac-sha256') return refuse('Signature is not of hmac-sha256');
  const signed = (parameters.get('headers') ?? '').toLowerCase().split(' ');
  if (signed.length !== 2 || !signed.includes('date') || !signed.includes('digest'))
    return refuse('Signature does not cover date and digest alone');
  const body = digest.startsWith('SHA-256=') ? base64Digest(digest.slice('SHA-256='.length)) : undefined;
  if (body === undefined || !sameSecret(body, sha256(rawBody)))
    return refuse('Digest is not that of the body');
  if (!isFresh(Date.parse(date), now)) return refuse('Date is not within 5 minutes');
  const given = base64Digest(parameters.get('signature'));
  if (given === undefined) return refuse('Signature has no digest of 32 bytes');
  const text = signed.map((name) => `${name}: ${name === 'date' ? date : digest}`).join('\n');
  return anyMatches(usableSecrets, given, (secret) => hmac(secret, text));
};

/** Reads `keyId="…",algorithm="…"`; a parameter given twice makes all of it unreadable. */
function parametersOf(value: string): ReadonlyMap<string, string> | undefined {
  const found = [...value.slice(0, 1_000).matchAll(/([a-zA-Z]+)="([^"]*)"/g)];
  const parameters = new Map(found.map(([, name = '', content = '']) => [name, content] as const));
  return parameters.size === found.length ? parameters : undefined;
}

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody) => digestId(rawBody);
