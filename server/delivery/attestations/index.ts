/** Attestations: signed statements about artifacts, our own and those of others, and what each is worth. */
import type { Feature } from '../../platform/feature.ts';
import type { Who } from '../../platform/resource/index.ts';
import { readKeys } from '../signingkeys/index.ts';
import { createTrustedIdentities, readIdentities } from './trusted-identities.ts';
import { createTrustedKeys, readTrusted } from './trusted-keys.ts';
import type { TrustRoot } from './trust-root.ts';
import type { Keys } from './verify.ts';

export { attest, signStatement, storeAttestation } from './attest.ts';
export type { AttestDeps, Stated } from './attest.ts';
export { BUNDLE_BYTES_MAX, readEnvelope, readStatement } from './envelope.ts';
export { attestationFacts, ATTESTATIONS_MAX } from './facts.ts';
export type { AttestationFacts, EvaluationFacts } from './facts.ts';
export { attestationsOf } from './read.ts';
export type { Attestation, ListedAttestation } from './read.ts';
export { attestations, attestationSubjects } from './schema.ts';
export { EVALUATION_SUFFIX, PROVENANCE_TYPE } from './statement.ts';
export { trustRootOf } from './trust-root.ts';
export type { TrustRoot } from './trust-root.ts';
export { verifyBundle } from './verify.ts';
export type { Keys, VerificationStatus, Verified } from './verify.ts';

/** All that counts for the teams of the call. */
export async function keysFor(
  who: Who,
  { now, root }: { readonly now: Date; readonly root?: TrustRoot | undefined },
): Promise<Keys> {
  const [service, trusted, identities] = await Promise.all([
    readKeys(who.db, now),
    readTrusted(who),
    root === undefined ? [] : readIdentities(who),
  ]);
  return { service, trusted, identities, root };
}

export const attestationsFeature: Feature = {
  services: [createTrustedKeys(), createTrustedIdentities()],
};
