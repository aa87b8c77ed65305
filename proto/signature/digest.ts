/**
 * Content-Digest (RFC 9530) over the bytes as sent, which is after content-encoding and before
 * transfer-encoding. Every listed algorithm that is known here must match; a list with no known algorithm
 * proves nothing and is refused.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

/** RFC 9530 marks the others (md5, sha, unixsum, …) as insecure: they count as unknown. */
const HASH_OF_ALGORITHM: ReadonlyMap<string, 'sha256' | 'sha512'> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
]);

export type DigestAlgorithm = 'sha-256' | 'sha-512';

/** One dictionary member whose value is a byte sequence, in canonical form. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):$/;

export function contentDigest(body: Uint8Array, algorithm: DigestAlgorithm = 'sha-256'): string {
  const hash = algorithm === 'sha-256' ? 'sha256' : 'sha512';
  return `${algorithm}=:${createHash(hash).update(body).digest('base64')}:`;
}

/** Why the field does not prove this body, as text for the log; undefined when it does. */
export function contentDigestProblem(field: string, body: Uint8Array): string | undefined {
  const seen = new Set<string>();
  let known = 0;
  for (const member of field.split(', ')) {
    const [, algorithm, encoded] = MEMBER.exec(member) ?? [];
    if (algorithm === undefined || encoded === undefined)
      return 'content-digest is not a list of algorithm=:base64:';
    if (seen.has(algorithm)) return `content-digest lists ${algorithm} twice`;
    seen.add(algorithm);
    const hash = HASH_OF_ALGORITHM.get(algorithm);
    if (hash === undefined) continue;
    known += 1;
    const claimed = Buffer.from(encoded, 'base64');
    if (claimed.toString('base64') !== encoded) return `content-digest ${algorithm} is not canonical base64`;
    const actual = createHash(hash).update(body).digest();
    if (claimed.length !== actual.length || !timingSafeEqual(claimed, actual)) {
      return `content-digest ${algorithm} does not match the ${body.length} bytes received`;
    }
  }
  return known === 0 ? `content-digest has no known algorithm, only ${[...seen].join(', ')}` : undefined;
}
