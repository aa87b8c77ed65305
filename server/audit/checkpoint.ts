/**
 * Checkpoints: signed statements that a chain ended so at that time. Kept outside of the database, they show what a chain of hashes
 * alone cannot: that its end was cut off, or that all of it was written anew. The Ed25519 key comes from the installation's
 * key-encryption key, so that every process signs with the same one and whoever has only the database has none.
 */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { Secrets } from '../platform/secrets.ts';

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
  return {
    publicKey,
    sign: ({ chain, seq, hash, at }) => {
      const statement = { chain, seq, hash, at };
      const signature = sign(undefined, textOf(statement), privateKey).toString('base64url');
      return { ...statement, publicKey, signature };
    },
    isOurs: (checkpoint) => {
      const signature = Buffer.from(checkpoint.signature, 'base64url');
      return (
        checkpoint.publicKey === publicKey &&
        signature.length === SIGNATURE_BYTES &&
        verify(undefined, textOf(checkpoint), key, signature)
      );
    },
  };
}
