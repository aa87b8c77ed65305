/**
 * Signed statements: DSSE v1, alone or in a Sigstore bundle, around a statement of in-toto. The service reads
 * them by the same rules in code of its own: this program knows the service by its API alone, and verifies
 * without it.
 */
import { gunzipSync } from 'node:zlib';
import { parseTime } from '../shell/time.ts';

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const BUNDLE_TYPES = /^application\/vnd\.dev\.sigstore\.bundle(?:\.v(0\.3)\+json|\+json;version=(0\.[123]))$/;
const STATEMENT_TYPES = new Set(['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1']);
/** An unpacked bundle has at most so many: the service makes and takes no longer ones. */
export const BUNDLE_BYTES_MAX = 6_291_456;
const SUBJECTS_MAX = 1_000;
/** Characters of a text from a bundle that a message repeats. */
const QUOTED_MAX = 100;

export interface Envelope {
  /** `Sigstore bundle 0.3` or `DSSE envelope`. */
  readonly form: string;
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
  /**
   * Name of the key; it is empty where none is named. `keyid` of DSSE is no such name: it is not signed, and
   * means what its maker likes.
   */
  readonly hint: string;
}

export interface Statement {
  readonly type: string;
  readonly predicateType: string;
  /** `sha256:<hex>` of each subject that has one. */
  readonly digests: readonly string[];
  /** Time at which the build ended, as the statement itself has it. */
  readonly finishedOn: string | undefined;
}

/** Returns the bytes that DSSE signs, which gives lengths in bytes. */
export function paeOf(type: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${body.length} `), body]);
}

/** Throws an Error that says what is wrong. */
export function readEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length > BUNDLE_BYTES_MAX)
    throw new Error(`it has more than ${BUNDLE_BYTES_MAX} bytes, which is the most that is read`);
  const root = membersOf(parseUnambiguous(unpacked(bytes)));
  const { mediaType, dsseEnvelope, verificationMaterial } = root;
  if (root['messageSignature'] !== undefined)
    throw new Error('it signs bytes and states nothing, expected a bundle with a DSSE envelope');
  const isBundle = mediaType !== undefined || dsseEnvelope !== undefined;
  const form = isBundle ? `Sigstore bundle ${bundleVersion(mediaType)}` : 'DSSE envelope';
  const { payload, payloadType, signatures } = membersOf(isBundle ? dsseEnvelope : root);
  if (typeof payload !== 'string' || typeof payloadType !== 'string' || !Array.isArray(signatures))
    throw new Error('it has no DSSE envelope of payload, payloadType and signatures');
  if (signatures.length !== 1) throw new Error(`it has ${signatures.length} signatures, expected one`);
  const { sig } = membersOf(signatures[0]);
  const { hint = '' } = membersOf(membersOf(verificationMaterial)['publicKey']);
  if (typeof sig !== 'string' || typeof hint !== 'string')
    throw new Error('its signature, or the name of its key, is no text');
  return {
    form,
    payloadType,
    payload: decoded('payload', payload),
    signature: decoded('signature', sig),
    hint,
  };
}

/** A gzip, as the service packs large ones in compliance packages, or the bundle itself. */
function unpacked(bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: BUNDLE_BYTES_MAX });
  } catch (error) {
    if (error instanceof RangeError)
      throw new Error(`it unpacks to more than ${BUNDLE_BYTES_MAX} bytes, which is the most that is read`);
    throw new Error(`it is no whole gzip file: ${(error as Error).message}`);
  }
}

/** Throws an Error that says what is wrong. */
export function checkedPayloadType({ payloadType }: Envelope): string {
  if (payloadType === PAYLOAD_TYPE) return payloadType;
  throw new Error(`it is ${quoted(payloadType)}, expected ${PAYLOAD_TYPE}`);
}

/** Throws an Error that says what is wrong. */
export function readStatement({ payload }: Envelope): Statement {
  const { _type: type, predicateType, subject, predicate } = membersOf(parseUnambiguous(payload));
  if (typeof type !== 'string' || !STATEMENT_TYPES.has(type))
    throw new Error(`its _type is ${quoted(type)}, expected a statement of in-toto, v1 or v0.1`);
  if (typeof predicateType !== 'string' || predicateType === '' || predicateType.length > 500)
    throw new Error('its predicateType is no text of 1 to 500 characters');
  if (!Array.isArray(subject) || subject.length === 0 || subject.length > SUBJECTS_MAX)
    throw new Error(`its subject is no list of 1 to ${SUBJECTS_MAX} things`);
  const digests = subject.flatMap((each) => {
    const hex = membersOf(membersOf(each)['digest'])['sha256'];
    return typeof hex === 'string' && /^[0-9a-f]{64}$/.test(hex) ? [`sha256:${hex}`] : [];
  });
  const { finishedOn } = membersOf(membersOf(membersOf(predicate)['runDetails'])['metadata']);
  return { type, predicateType, digests, finishedOn: timeOf(finishedOn) };
}

const timeOf = (value: unknown): string | undefined =>
  typeof value === 'string' && parseTime(value) !== undefined ? value : undefined;

function bundleVersion(mediaType: unknown): string {
  const [, current, older] = (typeof mediaType === 'string' && BUNDLE_TYPES.exec(mediaType)) || [];
  const version = current ?? older;
  if (version !== undefined) return version;
  throw new Error(`its media type is ${quoted(mediaType)}, expected a Sigstore bundle of version 0.1 to 0.3`);
}

/** Base64 or base64url, padded or not. */
function decoded(what: string, text: string): Uint8Array {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw new Error(`its ${what} is not base64`);
  return Buffer.from(text, 'base64');
}

const quoted = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, QUOTED_MAX)) : `no text but ${typeof value}`;

type Members = Readonly<Record<string, unknown>>;
const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};

/** A member that is there twice is refused: of two readers each might believe another one. */
function parseUnambiguous(bytes: Uint8Array): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new Error('it is not JSON'); // V8 quotes the text in its message.
  }
  if (countNames(text) !== countMembers(value)) throw new Error('an object in it has the same member twice');
  return value;
}

/** Colons outside of texts, in JSON that is valid. */
function countNames(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === ':') count += 1;
    if (text[at] !== '"') continue;
    for (at += 1; text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
  }
  return count;
}

/** Counts without recursion, because nobody has limited the depth. */
function countMembers(root: unknown): number {
  let count = 0;
  const left = [root];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const inner: readonly unknown[] = Object.values(value);
    if (!Array.isArray(value)) count += inner.length;
    for (const each of inner) if (typeof each === 'object') left.push(each);
  }
  return count;
}
