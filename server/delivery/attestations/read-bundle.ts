/**
 * A bundle as whoever judges it needs it: of a large one, which is prepared before, a thread has found out
 * the same.
 */
import { hash, type KeyObject } from 'node:crypto';
import { readEnvelope, readStatement, type Envelope, type Statement } from './envelope.ts';
import { knownLarge, nameOf, type KnownLarge } from './large.ts';
import { isSignedBy, type Candidate } from './open-large.ts';
import type { NoSignatory, Signatory, TrustRoot } from './trust-root.ts';
import { createKept } from './kept.ts';

export interface ReadBundle {
  readonly hint: string;
  readonly isKeyless: boolean;
  /** Statement; that of a large bundle is without its predicate. */
  readonly statement: Statement;
  /** It is the hash of the bundle when it is unpacked. */
  readonly sha256: Uint8Array;
  /** Hexadecimal. */
  payloadSha256(): string;
  isSignedBy(key: Candidate): boolean;
  /** Says what its certificate says by this root. */
  saidBy(root: TrustRoot): Signatory | NoSignatory;
}

/** Throws an Error that says what is wrong. */
export function readBundle(bundle: Uint8Array): ReadBundle {
  const name = nameOf(bundle);
  const known = knownLarge(bundle, name);
  return known === undefined ? readHere(bundle, name) : readInThread(known, name);
}

/**
 * The key that signed a bundle: what it is worth is judged at each read. A key has one object, see
 * `publicKeyOf`.
 */
const signers = createKept<KeyObject>(20_000);

function readHere(bundle: Uint8Array, name: string): ReadBundle {
  const envelope: Envelope = readEnvelope(bundle);
  const { payload, hint, isKeyless } = envelope;
  return {
    hint,
    isKeyless,
    statement: readStatement(envelope),
    sha256: Buffer.from(name, 'base64'),
    payloadSha256: () => hash('sha256', payload, 'hex'),
    isSignedBy: ({ publicKey }) => {
      if (signers.get(name) === publicKey) return true;
      if (!isSignedBy(publicKey, envelope)) return false;
      signers.keep(name, publicKey);
      return true;
    },
    saidBy: (root) => root.signatory(bundle, { name, payload }),
  };
}

const NOT_IN_TIME: NoSignatory = { problem: 'its certificate could not be read in time', isForged: false };

function readInThread({ large, signer }: KnownLarge, name: string): ReadBundle {
  const { envelope, statement, sha256, payloadSha256 } = large;
  return {
    hint: envelope.hint,
    isKeyless: envelope.isKeyless,
    statement,
    sha256: Buffer.from(sha256, 'hex'),
    payloadSha256: () => payloadSha256,
    isSignedBy: ({ hint }) => hint === signer,
    saidBy: (root) => root.known(name) ?? NOT_IN_TIME,
  };
}
