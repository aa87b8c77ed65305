/**
 * Reads and makes envelopes: DSSE v1 in a Sigstore bundle v0.3, as published bundles and `@sigstore/verify`
 * have them. Signatures are DER. A bundle is its bytes: whoever verifies parses what was stored, and nothing
 * is ever written anew.
 */
import { parseJson } from '@svc/proto/http/json-text.ts';

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const BUNDLE_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const BUNDLE_TYPES = /^application\/vnd\.dev\.sigstore\.bundle(\.v0\.3\+json|\+json;version=0\.[123])$/;
/** Members and items of a bundle and of a statement, each. */
const ELEMENTS_MAX = 50_000;
/**
 * The most bytes of a bundle as it is sent and stored; one that is packed may unpack to more: see
 * open-large.ts.
 */
export const BUNDLE_BYTES_MAX = 2_359_296;

/** Returns the bytes that are signed; its lengths are in bytes. */
export function paeOf(type: string, body: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${body.length} `, 'utf8'),
    body,
  ]);
}

export interface Signed {
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
  /** Base64 of the SHA-256 of the public key. */
  readonly hint: string;
}

/** Without a final newline, on which some verifiers fail. */
export function bundleOf({ payload, signature, hint }: Signed): Buffer {
  return Buffer.from(
    JSON.stringify({
      mediaType: BUNDLE_TYPE,
      verificationMaterial: { publicKey: { hint }, tlogEntries: [] },
      dsseEnvelope: {
        payload: Buffer.from(payload).toString('base64'),
        payloadType: PAYLOAD_TYPE,
        signatures: [{ sig: Buffer.from(signature).toString('base64') }],
      },
    }),
  );
}

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
  /** The hint is empty where the bundle names no key. */
  readonly hint: string;
  /** The bundle has a certificate in place of the name of a key. */
  readonly isKeyless: boolean;
}

export type Members = Readonly<Record<string, unknown>>;
export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};

/** Finds a member by its path: `builder.id`. */
export function memberAt(value: unknown, path: string): unknown {
  let at = value;
  for (const name of path.split('.')) {
    const members = membersOf(at);
    at = Object.hasOwn(members, name) ? members[name] : undefined;
  }
  return at;
}

/**
 * A Sigstore bundle 0.1 to 0.3 around a DSSE envelope, or the envelope alone. Throws an Error that says what
 * is wrong.
 */
export function readEnvelope(bytes: Uint8Array, bytesMax: number = BUNDLE_BYTES_MAX): Envelope {
  if (bytes.length > bytesMax) throw new Error(`it has ${bytes.length} bytes, at most ${bytesMax} are read`);
  const root = membersOf(parseJson(bytes, { elementsMax: ELEMENTS_MAX }));
  const { mediaType, verificationMaterial, dsseEnvelope, messageSignature } = root;
  if (messageSignature !== undefined)
    throw new Error('it signs bytes and states nothing: a bundle with a DSSE envelope is expected');
  const isBundle = mediaType !== undefined || dsseEnvelope !== undefined;
  if (isBundle && (typeof mediaType !== 'string' || !BUNDLE_TYPES.test(mediaType)))
    throw new Error(
      `its media type is ${JSON.stringify(mediaType)}, expected a Sigstore bundle of version 0.1 to 0.3`,
    );
  const { payload, payloadType, signatures } = membersOf(isBundle ? dsseEnvelope : root);
  if (typeof payload !== 'string' || typeof payloadType !== 'string' || !Array.isArray(signatures))
    throw new Error('it has no DSSE envelope of payload, payloadType and signatures');
  if (signatures.length !== 1) throw new Error(`it has ${signatures.length} signatures, expected one`);
  const { sig } = membersOf(signatures[0]);
  const material = membersOf(verificationMaterial);
  const { hint = '' } = membersOf(material['publicKey']);
  const isKeyless = material['certificate'] !== undefined || material['x509CertificateChain'] !== undefined;
  if (typeof sig !== 'string' || typeof hint !== 'string') throw new Error('its signature is no text');
  const decodes = { payload: decoded('payload', payload), signature: decoded('signature', sig) };
  return { payloadType, ...decodes, hint, isKeyless };
}

/** Base64 or base64url, padded or not. */
function decoded(what: string, text: string): Uint8Array {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw new Error(`its ${what} is not base64`);
  return Buffer.from(text, 'base64');
}

export interface Statement {
  readonly type: string;
  readonly predicateType: string;
  /** `sha256:<hex>` of each subject that has one. */
  readonly digests: readonly string[];
  /** Members of the whole statement. */
  readonly json: Members;
}

const STATEMENT_TYPES = new Set(['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1']);
const HEX = /^[0-9a-f]{64}$/;

/** Reads a statement of in-toto. Throws an Error that says what is wrong. */
export function readStatement(
  { payloadType, payload }: Envelope,
  elementsMax: number = ELEMENTS_MAX,
): Statement {
  if (payloadType !== PAYLOAD_TYPE)
    throw new Error(
      `its payload type is ${JSON.stringify(payloadType.slice(0, 100))}, expected ${PAYLOAD_TYPE}`,
    );
  const json = membersOf(parseJson(payload, { elementsMax }));
  const { _type: type, predicateType, subject } = json;
  if (typeof type !== 'string' || !STATEMENT_TYPES.has(type))
    throw new Error(`its _type is ${JSON.stringify(type)}, expected a statement of in-toto, v1 or v0.1`);
  if (typeof predicateType !== 'string' || predicateType === '' || predicateType.length > 500)
    throw new Error('its predicateType is no text of 1 to 500 characters');
  if (!Array.isArray(subject) || subject.length === 0 || subject.length > 1_000)
    throw new Error('its subject is no list of 1 to 1,000 things');
  const digests = subject.flatMap((each) => {
    const hex = membersOf(membersOf(each)['digest'])['sha256'];
    return typeof hex === 'string' && HEX.test(hex) ? [`sha256:${hex}`] : [];
  });
  return { type, predicateType, digests, json };
}
