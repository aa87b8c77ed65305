/**
 * Opens bundles that are too large to be read on the event loop: their statements hold the list of packages
 * themselves, in up to 4 MiB. Runs in a thread, see large.ts: there they are unpacked, parsed and verified,
 * and what is found is small.
 */
import { createHash, verify as verifyBytes, type KeyObject } from 'node:crypto';
import {
  BUNDLE_BYTES_MAX,
  paeOf,
  readEnvelope,
  readStatement,
  type Envelope,
  type Statement,
} from './envelope.ts';
import { isPacked, unpack } from './gzip.ts';
import type { NoSignatory, Signatory, TrustRoot } from './trust-root.ts';

/** It limits a payload that may hold anything; a larger one is a list of packages. */
const STATEMENT_BYTES_MAX = 1_048_576;
/** No bundle of so many bytes holds a larger payload than that: base64 takes four thirds of it. */
const LARGE_BYTES = Math.ceil(STATEMENT_BYTES_MAX / 3) * 4;
/** It limits a payload that is a list of packages. */
const LIST_BYTES_MAX = 4_194_304;
/**
 * Base64 of such a payload has 5,592,408 bytes; the rest is for certificates, entries of logs and line ends.
 */
export const UNPACKED_BYTES_MAX = 6_291_456;
/** Members and items of a list. */
const LIST_ELEMENTS_MAX = 400_000;
/** Statements of types that begin so may be long: CycloneDX and SPDX. */
const LISTS = ['https://cyclonedx.org/', 'https://spdx.dev/'];

export const isLarge = (bundle: Uint8Array): boolean => isPacked(bundle) || bundle.length > LARGE_BYTES;

/** A key that may have signed it. */
export interface Candidate {
  readonly hint: string;
  readonly publicKey: KeyObject;
}

export interface LargeQuestion {
  readonly bundle: Uint8Array;
  /** Question about its signature; without it, the bundle itself is asked for, as JSON. */
  readonly verify?: {
    readonly keys: readonly Candidate[];
    /** Text of the root of trust. */
    readonly root: string | undefined;
  };
}

/** These facts of a large bundle never change. */
export interface LargeBundle {
  readonly envelope: Omit<Envelope, 'payload' | 'signature'>;
  /** Without its predicate. */
  readonly statement: Statement;
  /**
   * It is the hash of the bundle when it is unpacked, and the next one that of its payload, both in
   * hexadecimal.
   */
  readonly sha256: string;
  readonly payloadSha256: string;
}

export type LargeAnswer =
  | { readonly problem: string }
  /** It is not packed and holds something else than a long list: it is read where it is. */
  | { readonly isOrdinary: true }
  /** It was packed without need. */
  | { readonly unpacked: Uint8Array }
  | { readonly json: unknown }
  | {
      readonly large: LargeBundle;
      /** Hint of the key that signed it; undefined: none of those that were asked about. */
      readonly signer: string | undefined;
      /** It is there for a bundle with a certificate, where there is a root. */
      readonly said: Signatory | NoSignatory | undefined;
    };

export async function openLarge({ bundle, verify }: LargeQuestion): Promise<LargeAnswer> {
  try {
    const bytes = isPacked(bundle) ? unpack(bundle, UNPACKED_BYTES_MAX) : bundle;
    if (verify === undefined) return { json: JSON.parse(new TextDecoder().decode(bytes)) as unknown };
    if (isPacked(bundle) && bytes.length <= BUNDLE_BYTES_MAX) return { unpacked: Uint8Array.from(bytes) };
    const envelope = readEnvelope(bytes, UNPACKED_BYTES_MAX);
    const { payload, signature: _long, ...rest } = envelope;
    if (!isPacked(bundle) && payload.length <= STATEMENT_BYTES_MAX) return { isOrdinary: true };
    const large = {
      envelope: rest,
      statement: listOf(envelope, bytes.length),
      sha256: sha256Of(bytes),
      payloadSha256: sha256Of(payload),
    };
    const { keys, root } = verify;
    if (rest.isKeyless) return { large, signer: undefined, said: await saidBy(root, bytes, payload) };
    return { large, signer: signerOf(envelope, keys)?.hint, said: undefined };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Reads the statement without its predicate. Throws an Error that says what is wrong. */
function listOf(envelope: Envelope, bundleBytes: number): Statement {
  const { length } = envelope.payload;
  if (length > LIST_BYTES_MAX)
    throw new Error(`its statement has ${length} bytes, at most ${LIST_BYTES_MAX} are read`);
  const { json, ...statement } = readStatement(envelope, LIST_ELEMENTS_MAX);
  if (!LISTS.some((list) => statement.predicateType.startsWith(list)))
    throw new Error(
      length > STATEMENT_BYTES_MAX
        ? `its statement has ${length} bytes, at most ${STATEMENT_BYTES_MAX} are read of anything but CycloneDX and SPDX`
        : `it unpacks to ${bundleBytes} bytes, at most ${BUNDLE_BYTES_MAX} are read around anything but CycloneDX and SPDX`,
    );
  const { predicate: _long, ...rest } = json;
  return { ...statement, json: rest };
}

const signerOf = (envelope: Envelope, keys: readonly Candidate[]): Candidate | undefined =>
  keys
    .filter(({ hint }) => envelope.hint === '' || envelope.hint === hint)
    .find(({ publicKey }) => isSignedBy(publicKey, envelope));

export function isSignedBy(key: KeyObject, { payloadType, payload, signature }: Envelope): boolean {
  try {
    const algorithm = key.asymmetricKeyType === 'ed25519' ? undefined : 'sha256';
    return verifyBytes(algorithm, paeOf(payloadType, payload), key, signature);
  } catch {
    return false; // A key of a kind that cannot verify this.
  }
}

/** This is the root of the last question: an installation has one. */
let root: TrustRoot | undefined;

/** Loads what certificates are verified with when the first one comes, since most threads need none of it. */
async function saidBy(
  text: string | undefined,
  bundle: Uint8Array,
  payload: Uint8Array,
): Promise<Signatory | NoSignatory | undefined> {
  if (text === undefined) return undefined;
  const { createTrustRoot } = await import('./trust-root.ts');
  if (root?.text !== text) root = createTrustRoot(text);
  return root.signatory(bundle, { name: sha256Of(bundle), payload });
}
