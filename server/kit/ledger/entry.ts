/**
 * An entry of the ledger has the hash `SHA-256("audit.v1\n" + chain + "\n" + seq + "\n" + previousHash + "\n"
 * + JCS(content))`, where the content is `{action, actor: {display, id, kind}, at, details, requestId,
 * target}` in RFC 8785 canonical JSON and `at` counts milliseconds. Everybody who has an export can compute
 * it again, so nothing may enter that a database or a JSON parser hands back in another shape than it got:
 * fractions and great numbers are refused, and texts are what PostgreSQL stores of them.
 */
import { createHash } from 'node:crypto';
import { withArticle } from '@svc/proto/http/article.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import canonicalize from 'canonicalize';

export interface AuditActor {
  readonly kind: 'user' | 'api_key' | 'runner' | 'ci_job' | 'agent' | 'system';
  readonly id: string;
  readonly display: string;
}

export type AuditValue =
  | string
  | number
  | boolean
  | null
  | readonly AuditValue[]
  | { readonly [name: string]: AuditValue };

export type AuditDetails = Readonly<Record<string, AuditValue>>;

/** Content that the hash covers beside the entry's place. */
export interface AuditContent {
  readonly action: string;
  readonly actor: AuditActor;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly details: AuditDetails;
  readonly requestId: string;
  readonly target: string;
}

export interface AuditRow extends AuditContent {
  readonly chain: string;
  readonly seq: number;
  readonly previousHash: string;
  readonly hash: string;
}

/** Hash before the first entry. */
export const NO_HASH = '0'.repeat(64);

/** Deeper details are a mistake of the program; so deep, the recursion is far from its limit. */
const DEPTH_MAX = 16;

/** Place of an entry. */
export interface AuditPlace {
  readonly chain: string;
  readonly seq: number;
  readonly previousHash: string;
}

export function entryHash({ chain, seq, previousHash }: AuditPlace, content: AuditContent): string {
  const { action, actor, at, details, requestId, target } = content;
  const { display, id, kind } = actor;
  const canonical = canonicalize({
    action,
    actor: { display, id, kind },
    at,
    details,
    requestId,
    target,
  });
  return createHash('sha256')
    .update(`audit.v1\n${chain}\n${seq}\n${previousHash}\n${canonical}`)
    .digest('hex');
}

/**
 * As PostgreSQL stores it: half of a surrogate pair becomes U+FFFD on the way into a text column, so it does
 * here too. U+0000 cannot be stored and is refused as it is everywhere else.
 */
export function storableText(text: string): string {
  if (text.includes('\0'))
    throw apiError('validation_failed', 'a text holds a character that cannot be stored (U+0000)');
  return Buffer.from(text).toString();
}

/** A copy that comes back from jsonb as it went in. Members that are undefined are left out. */
export function storableDetails(details: Readonly<Record<string, unknown>>): AuditDetails {
  return storable(details, 'details', 0) as AuditDetails;
}

function storable(value: unknown, where: string, depth: number): AuditValue {
  if (depth > DEPTH_MAX) throw new TypeError(`audit ${where} is nested deeper than ${DEPTH_MAX}`);
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return storableText(value);
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value))
      throw new TypeError(`audit ${where} is ${value}: numbers must be integers within 2^53`);
    return value === 0 ? 0 : value; // -0 comes back as 0
  }
  if (Array.isArray(value))
    return value.map((each: unknown, at) => storable(each, `${where}[${at}]`, depth + 1));
  if (typeof value === 'object' && isPlain(value)) {
    // This does not assign members, because one named __proto__ is data too.
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([name, each]) => [storableText(name), storable(each, `${where}.${name}`, depth + 1)]),
    );
  }
  throw new TypeError(
    `audit ${where} is ${typeof value === 'object' ? 'no plain object' : withArticle(typeof value)}: entries hold JSON alone`,
  );
}

/** A Date or a Buffer would look like data and come back as something else. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
