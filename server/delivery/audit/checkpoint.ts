/**
 * Checkpoints are signed statements that a chain ended so at that time. Kept outside of the database, they
 * show what a chain of hashes alone cannot: that its end was cut off, or that all of it was written anew. The
 * Ed25519 key comes from the installation's key-encryption key, so that every process signs with the same one
 * and whoever has only the database has none. A signer remembers which statements it signed or has found to
 * be signed, so that a file of a hundred thousand is not verified anew each time it is read. What is
 * remembered is the whole of a checkpoint, its place, hash, time and signature: of one that differs in
 * anything the signature is checked.
 */
import { createPrivateKey, createPublicKey, hash, sign, verify } from 'node:crypto';
import type { Secrets } from '../../base/secrets.ts';

export interface Checkpoint {
  readonly chain: string;
  /** Last entry then; 0 when there was none. */
  readonly seq: number;
  readonly hash: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Base64url of 32 bytes. */
  readonly publicKey: string;
  /** Base64url of 64 bytes. */
  readonly signature: string;
}

export type Statement = Pick<Checkpoint, 'chain' | 'seq' | 'hash' | 'at'>;

export interface Signer {
  readonly publicKey: string;
  sign(statement: Statement): Checkpoint;
  /** True when this installation signed exactly this. */
  isOurs(checkpoint: Checkpoint): boolean;
}

/** DER of a PKCS #8 Ed25519 private key (RFC 8410) up to its 32 bytes. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const SIGNATURE_BYTES = 64;
/** Names of each of two generations, of some 100 bytes each. */
const REMEMBERED_MAX = 250_000;
/** 132 bits. */
const NAME_CHARS = 22;

const textOf = ({ chain, seq, hash, at }: Statement): Buffer =>
  Buffer.from(`audit-checkpoint.v1\n${chain}\n${seq}\n${hash}\n${at}`);

export function createSigner(secrets: Pick<Secrets, 'mac'>): Signer {
  const seed = secrets.mac('derive', 'audit-checkpoint.v1');
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const key = createPublicKey(privateKey);
  const publicKey = String(key.export({ format: 'jwk' }).x);
  const remembered = createMemory();
  return {
    publicKey,
    sign: ({ chain, seq, hash, at }) => {
      const statement = { chain, seq, hash, at };
      const signature = sign(undefined, textOf(statement), privateKey).toString('base64url');
      const checkpoint = { ...statement, publicKey, signature };
      remembered.add(nameOf(checkpoint));
      return checkpoint;
    },
    isOurs: (checkpoint) => {
      if (checkpoint.publicKey !== publicKey) return false;
      const name = nameOf(checkpoint);
      if (remembered.has(name)) return true;
      const signature = Buffer.from(checkpoint.signature, 'base64url');
      const isOurs =
        signature.length === SIGNATURE_BYTES && verify(undefined, textOf(checkpoint), key, signature);
      if (isOurs) remembered.add(name);
      return isOurs;
    },
  };
}

function nameOf(checkpoint: Checkpoint): string {
  const text = Buffer.concat([textOf(checkpoint), Buffer.from(`\n${checkpoint.signature}`)]);
  return hash('sha256', text, 'base64url').slice(0, NAME_CHARS);
}

/** Remembers names in two generations: what was not asked for while a whole one was filled is forgotten. */
function createMemory(): { add(name: string): void; has(name: string): boolean } {
  let recent = new Set<string>();
  let older = new Set<string>();
  const add = (name: string): void => {
    recent.add(name);
    if (recent.size < REMEMBERED_MAX) return;
    older = recent;
    recent = new Set();
  };
  return {
    add,
    has: (name) => {
      if (recent.has(name)) return true;
      if (!older.delete(name)) return false;
      add(name);
      return true;
    },
  };
}
