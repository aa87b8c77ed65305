/**
 * Attestations are signed statements about artifacts, our own and those of others, with what each is worth.
 */
import { teamsFeature } from '../../access/teams/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import { signingKeysFeature } from '../signingkeys/index.ts';
import { settings } from './attestations.settings.ts';
import { trustRootOf } from './trust-root.ts';
import { stopReading } from './large.ts';
import { recountJob } from './recount.ts';
import { createTrustedIdentities } from './trusted-identities.ts';
import { createTrustedKeys } from './trusted-keys.ts';

export { addSubjects, attest, EVIDENCE_JOB, signStatement, storeAttestation } from './attest.ts';
export type { AttestDeps, Stated } from './attest.ts';
export { evaluationCountsAs, signedKey, uploadCountsAs } from './counted.ts';
export type { Statement } from './envelope.ts';
export { attestationFacts, ATTESTATIONS_MAX } from './facts.ts';
export type { AssuranceLevel, AttestationFacts, EvaluationFacts } from './facts.ts';
export { isPacked } from './gzip.ts';
export { keysFor } from './keys.ts';
export { bundleJson, prepareBundle, takeBundle } from './large.ts';
export { refuseMoreEvaluations, refuseMoreUploads } from './limits.ts';
export { attestationsOf, statedAs } from './read.ts';
export type { Attestation, ListedAttestation } from './read.ts';
export { readBundle } from './read-bundle.ts';
export type { ReadBundle } from './read-bundle.ts';
export { attestations, attestationSubjects } from './schema.ts';
export { EVALUATION_SUFFIX, isEvaluation, PROVENANCE_TYPE } from './statement.ts';
export type { TrustRoot } from './trust-root.ts';
export { verifyBundle } from './verify.ts';
export type { Keys, VerificationStatus, Verified } from './verify.ts';
export { problemOf as statementProblem } from './well-formed.ts';

export const attestationsFeature = declareFeature({
  name: 'attestations',
  on: { teams: teamsFeature, signingKeys: signingKeysFeature },
  contracts: ['trustedkeys', 'trustedidentities'],
  settings,
  prefixes: ['tid', 'tky'],
  reads: ['attestations', 'attestation_subjects'],
  start: ({ db, clock }, _on, { sigstoreTrustedRoot, attestationTypeBase: typeBase }) => {
    const root = trustRootOf(sigstoreTrustedRoot);
    return {
      root,
      typeBase,
      services: [createTrustedKeys(root), createTrustedIdentities(root)],
      jobs: [recountJob({ db, clock, root })],
      stop: stopReading,
    };
  },
});
