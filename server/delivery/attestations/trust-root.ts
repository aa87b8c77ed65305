/**
 * Verifies keyless signatures: a certificate of an authority that is trusted here says for a few minutes who
 * holds a key, and logs that are trusted here saw certificate and signature in that time. Everything is in
 * the bundle; nobody is asked.
 */
import { readFileSync } from 'node:fs';
import { bundleFromJSON, isBundleWithDsseEnvelope } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { toSignedEntity, toTrustMaterial, VerificationError, Verifier } from '@sigstore/verify';
import { ConfigError } from '@svc/proto/process/settings.ts';
import { createKept } from './kept.ts';
import { memberAt } from './envelope.ts';

/** It holds what a certificate says of who signed. */
export interface Signatory {
  readonly issuer: string;
  readonly identity: string;
}

/** `isForged`: the signature is not that of the certificate. */
export interface NoSignatory {
  readonly problem: string;
  readonly isForged: boolean;
}

export interface TrustRoot {
  /** Text of its file: a thread makes the same of it. */
  readonly text: string;
  /** Says who signed a bundle with a certificate around this payload. `name` is the SHA-256 of the bundle. */
  signatory(
    bundle: Uint8Array,
    of: { readonly name: string; readonly payload: Uint8Array },
  ): Signatory | NoSignatory;
  /** Returns what was found out about a bundle before. */
  known(name: string): Signatory | NoSignatory | undefined;
  /** Keeps what the same root said elsewhere. */
  keep(name: string, said: Signatory | NoSignatory): void;
}

const KEPT_MAX = 20_000;
/** That the bytes are others than those that were signed or logged. */
const FORGED: ReadonlySet<string> = new Set(['SIGNATURE_ERROR', 'TLOG_BODY_ERROR']);

/** Throws an Error that says what is wrong with the file. Undefined where none is named. */
export function trustRootOf(path: string | undefined): TrustRoot | undefined {
  if (path === undefined) return undefined;
  try {
    return createTrustRoot(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError([
      `SIGSTORE_TRUSTED_ROOT is "${path}", expected a trusted_root.json of Sigstore: ${(error as Error).message}`,
    ]);
  }
}

/** Throws an Error that says what is wrong with the text. */
export function createTrustRoot(text: string): TrustRoot {
  const root = TrustedRoot.fromJSON(JSON.parse(text));
  if (root.certificateAuthorities.length === 0) throw new Error('it names no certificate authority');
  const { tlogs, ctlogs } = root;
  // An authority without logs of its own has its times from a timestamp authority.
  const verifier = new Verifier(toTrustMaterial(root), {
    tlogThreshold: Math.min(tlogs.length, 1),
    ctlogThreshold: Math.min(ctlogs.length, 1),
    timestampThreshold: 1,
  });
  const kept = createKept<Signatory | NoSignatory>(KEPT_MAX);
  return {
    text,
    known: (name) => kept.get(name),
    keep: (name, said) => kept.keep(name, said),
    signatory: (bundle, { name, payload }) => {
      const known = kept.get(name);
      if (known !== undefined) return known;
      const found = find(verifier, bundle, payload);
      kept.keep(name, found);
      return found;
    },
  };
}

const REKOR_2 =
  'its entry is of a log of Rekor v2, which is not supported: have it logged by Rekor v1, or sign with a key that the team trusts';

/** An entry of Rekor v2 is of the kind `dsse` or `hashedrekord` in version 0.0.2, and has no time. */
function isOfRekor2(json: unknown): boolean {
  const entries = memberAt(json, 'verificationMaterial.tlogEntries');
  return (
    Array.isArray(entries) && entries.some((entry) => memberAt(entry, 'kindVersion.version') === '0.0.2')
  );
}

function find(verifier: Verifier, bytes: Uint8Array, payload: Uint8Array): Signatory | NoSignatory {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (isOfRekor2(json)) return { problem: REKOR_2, isForged: false };
    const bundle = bundleFromJSON(json);
    // What is verified must be what the rest goes by.
    if (!isBundleWithDsseEnvelope(bundle) || !bundle.content.dsseEnvelope.payload.equals(payload))
      return { problem: 'its payload can be read in two ways', isForged: true };
    const { identity } = verifier.verify(toSignedEntity(bundle));
    const { issuer } = identity?.extensions ?? {};
    if (issuer === undefined || identity?.subjectAlternativeName === undefined)
      return { problem: 'its certificate names nobody', isForged: false };
    return { issuer, identity: identity.subjectAlternativeName };
  } catch (error) {
    const isForged = error instanceof VerificationError && FORGED.has(error.code);
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `its certificate does not count: ${why}`, isForged };
  }
}
