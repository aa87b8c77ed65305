/**
 * What a stored bundle is worth, the one place where that is decided: signature, payload type, statement
 * type, subject and purpose of the key, all of them. A good signature about something else is the classic
 * hole, so nobody looks at less than all.
 */
import type { KeyObject } from 'node:crypto';
import type { Purpose, SigningKey } from '../signingkeys/index.ts';
import type { NoSignatory, Signatory, TrustRoot } from './trust-root.ts';
import type { Statement } from './envelope.ts';
import { readBundle, type ReadBundle } from './read-bundle.ts';
import { PROVENANCE_TYPE } from './statement.ts';
import type { RowOf } from '../../kit/resource/index.ts';
import type { trustedKeys } from './schema.ts';

/** `unverified`: signed by nobody whom the team trusts. */
export type VerificationStatus = 'valid' | 'unverified' | 'invalid' | 'key_revoked';

export interface TrustedKey extends Pick<
  RowOf<typeof trustedKeys>,
  'id' | 'name' | 'hint' | 'predicateTypes'
> {
  readonly publicKey: KeyObject;
}

/** The subject of certificates; a `*` at its end stands for anything. */
export type TrustedIdentity = Signatory & Pick<TrustedKey, 'id' | 'name' | 'predicateTypes'>;

export interface Keys {
  readonly service: readonly SigningKey[];
  readonly trusted: readonly TrustedKey[];
  readonly identities: readonly TrustedIdentity[];
  /** Root of trust; without one, no certificate counts. */
  readonly root?: TrustRoot | undefined;
}

export interface Verified {
  readonly status: VerificationStatus;
  /** Why it is not valid. */
  readonly problem?: string;
  /**
   * Id of the key of the service, or of one that the team trusts, that signed it; it is absent where nobody
   * known did.
   */
  readonly keyId?: string;
  /** Name for people: `the service (build_service)`, or that of the trusted key. */
  readonly signer?: string;
  /** Statement; it is absent where it cannot be read. */
  readonly statement?: Statement;
}

export interface Expected {
  /** The digest of the artifact that it is to be about. */
  readonly digest: string;
  /** The ledger took it then, which is what a revocation with a time goes by. */
  readonly storedAt: Date;
  /** Nobody else's signature counts on what the service made. */
  readonly isOurs: boolean;
}

/** A large bundle is prepared before, with the same keys. */
export function verifyBundle(bundle: Uint8Array, keys: Keys, expected: Expected): Verified {
  let read: ReadBundle;
  try {
    read = readBundle(bundle);
  } catch (error) {
    return { status: 'invalid', problem: error instanceof Error ? error.message : String(error) };
  }
  const { statement } = read;
  if (!statement.digests.includes(expected.digest))
    return { status: 'invalid', problem: `it is about something else than ${expected.digest}`, statement };
  return { ...bySigner(read, keys, expected), statement };
}

function bySigner(read: ReadBundle, keys: Keys, expected: Expected): Verified {
  const { hint, statement } = read;
  const { predicateType } = statement;
  if (read.isKeyless && !expected.isOurs) {
    const said = keys.root === undefined ? NO_ROOT : read.saidBy(keys.root);
    return byIdentity(said, keys.identities, predicateType);
  }
  const isBy = (key: SigningKey | TrustedKey): boolean => read.isSignedBy(key);
  const named = <K extends { readonly hint: string }>(all: readonly K[]): readonly K[] =>
    hint === '' ? all : all.filter((key) => key.hint === hint);
  const ours = named(keys.service).find(isBy);
  if (ours !== undefined) return ofService(ours, predicateType, expected);
  if (expected.isOurs) return { status: 'invalid', problem: 'no key of the service made its signature' };
  const trusted = named(keys.trusted).find(isBy);
  if (trusted !== undefined) return byTrusted('key', trusted, predicateType);
  const isKnown = named(keys.service).length + named(keys.trusted).length > 0 && hint !== '';
  return isKnown
    ? { status: 'invalid', problem: 'the signature is not that of the key which it names' }
    : { status: 'unverified', problem: 'it is signed by no key that the team trusts' };
}

const NO_ROOT: NoSignatory = {
  problem: 'it is signed with a certificate, and this installation has no SIGSTORE_TRUSTED_ROOT',
  isForged: false,
};

function byIdentity(
  said: Signatory | NoSignatory,
  identities: readonly TrustedIdentity[],
  predicateType: string,
): Verified {
  if ('problem' in said) return { status: said.isForged ? 'invalid' : 'unverified', problem: said.problem };
  const named = identities.filter((each) => isOf(each, said));
  const [first] = named;
  if (first === undefined)
    return { status: 'unverified', problem: `the team does not trust ${said.identity} of ${said.issuer}` };
  // Several may name it, for other predicates each.
  const able = named.find((each) => isFor(each, predicateType));
  return byTrusted('identity', able ?? first, predicateType);
}

/** It is signed by what the team trusts, for statements of this type or for others. */
function byTrusted(
  kind: 'key' | 'identity',
  { id: keyId, name: signer, predicateTypes }: Pick<TrustedKey, 'id' | 'name' | 'predicateTypes'>,
  predicateType: string,
): Verified {
  if (isFor({ predicateTypes }, predicateType)) return { status: 'valid', keyId, signer };
  const problem = `the ${kind} ${signer} is not trusted for ${predicateType}`;
  return { status: 'unverified', keyId, signer, problem };
}

const isFor = ({ predicateTypes }: Pick<TrustedKey, 'predicateTypes'>, predicateType: string): boolean =>
  predicateTypes.length === 0 || predicateTypes.includes(predicateType);

const isOf = ({ issuer, identity }: Signatory, said: Signatory): boolean =>
  issuer === said.issuer &&
  (identity.endsWith('*') ? said.identity.startsWith(identity.slice(0, -1)) : said.identity === identity);

function ofService(
  { id: keyId, purpose, state, ...key }: SigningKey,
  predicateType: string,
  { storedAt }: Expected,
): Verified {
  const signer = `the service (${purpose})`;
  const problem = `a key for ${purpose} may not sign ${predicateType}`;
  if (!maySign(purpose, predicateType)) return { status: 'invalid', keyId, signer, problem };
  const isBefore = key.compromisedSince !== null && storedAt < key.compromisedSince;
  if (state === 'revoked' && !isBefore)
    return { status: 'key_revoked', keyId, signer, problem: `its key was revoked: ${key.revokeReason}` };
  return { status: 'valid', keyId, signer };
}

/** Whoever builds vouches for builds, and for nothing else. */
export function maySign(purpose: Purpose, predicateType: string): boolean {
  return (purpose === 'platform') !== (predicateType === PROVENANCE_TYPE);
}
