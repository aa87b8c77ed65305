/** Test material: the public test key of RFC 9421 B.1.4 and ready-made signed requests. */
import { publicKeyObject, signingKeyFromSeed } from '../keys.ts';
import { authoritySet, type RequestFacts } from '../facts.ts';
import { signRequest, type SignableRequest } from '../sign.ts';
import { parseSignature, verifySignature, type VerifiedSignature } from '../verify.ts';
import type { SignatureProblem } from '../profile.ts';

export const testKey = signingKeyFromSeed(
  Buffer.from('n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU', 'base64url'),
);
export const testPublicKey = publicKeyObject(testKey.publicKey);
export const authorities = authoritySet(['https://cp.example.com']);

export const created = 1767225600;
export const nonce = '3q2-7wAAAAAAAAAAAAAAAA';

export const pollBody = Buffer.from('{"pollId":"0198f0c2-7d7e-7a10-9b1e-0f6b6a1f4c01","capacity":1}');
export const pollRequest = {
  method: 'POST',
  authority: 'cp.example.com',
  path: '/runner.v1.RunnerService/PollWork',
  contentType: 'application/json',
  body: pollBody,
} satisfies SignableRequest;
export const healthRequest = {
  method: 'GET',
  authority: 'cp.example.com',
  path: '/healthz',
  query: '?verbose=1',
} satisfies SignableRequest;

export type Headers = readonly (readonly [string, string])[];

/** The request as an HTTP/1.1 server would see it, after signing. */
export function signedFacts(
  request: SignableRequest,
  options = { key: testKey, created, nonce },
): RequestFacts {
  const signature = signRequest(request, options);
  const headers: (readonly [string, string])[] = [['Host', request.authority]];
  if (request.contentType !== undefined) headers.push(['Content-Type', request.contentType]);
  if (request.contentEncoding !== undefined) headers.push(['Content-Encoding', request.contentEncoding]);
  if (request.idempotencyKey !== undefined) headers.push(['Idempotency-Key', request.idempotencyKey]);
  for (const [name, value] of Object.entries(signature)) headers.push([name, String(value)]);
  return {
    method: request.method,
    target: request.path + (request.query ?? ''),
    authority: undefined,
    headers,
    forwardedHostTrusted: false,
  };
}

/** Both steps, as a gateway would take them. */
export async function check(
  facts: RequestFacts,
  body: Uint8Array = new Uint8Array(),
  options: { readonly nowSeconds?: number; readonly publicKey?: typeof testPublicKey } = {},
): Promise<VerifiedSignature | SignatureProblem> {
  const parsed = parseSignature(facts, { authorities, nowMs: (options.nowSeconds ?? created) * 1000 });
  return parsed.ok ? await verifySignature(parsed, options.publicKey ?? testPublicKey, body) : parsed;
}

export function headerOf(facts: RequestFacts, name: string): string {
  return facts.headers.find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
}

/** The same facts with one field line replaced, or removed when `value` is undefined. */
export function withHeader(facts: RequestFacts, name: string, value: string | undefined): RequestFacts {
  const others = facts.headers.filter(([key]) => key.toLowerCase() !== name);
  return { ...facts, headers: value === undefined ? others : [...others, [name, value]] };
}
