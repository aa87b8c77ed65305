/** Gives a valid request of each RPC to the tests of the contract. */
import { team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const artifact = ({ teamId, artifactId }: World) => ({ teamId, artifactId });

export const requests: Requests = {
  'svc.artifacts.v1.ArtifactsService/List': { gives: 'nothing', fields: team },
  'svc.artifacts.v1.ArtifactsService/Get': { gives: 'nothing', fields: artifact },
  'svc.artifacts.v1.ArtifactsService/Declare': {
    guards: 'nothing',
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, name: 'assets', kind: 'package', digest: `sha256:${'b'.repeat(64)}` }),
  },
  'svc.artifacts.v1.ArtifactsService/Attestations': { gives: 'nothing', fields: artifact },
  // Nothing is known of its packages.
  'svc.artifacts.v1.ArtifactsService/Packages': { gives: 'nothing', fields: artifact, status: 404 },
  'svc.artifacts.v1.ArtifactsService/Impact': {
    statements: 10,
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, packageName: 'openssl' }),
  },
  'svc.artifacts.v1.ArtifactsService/Lineage': { gives: 'nothing', fields: artifact },
  'svc.artifacts.v1.ArtifactsService/Passport': { gives: 'nothing', fields: artifact },
  'svc.artifacts.v1.ArtifactsService/UploadSbom': {
    guards: 'nothing',
    gives: 'nothing',
    fields: (world) => ({ ...artifact(world), document: Buffer.from('none').toString('base64') }),
    status: 400,
  },
  // There is no document about it.
  'svc.artifacts.v1.ArtifactsService/Sbom': { gives: 'nothing', fields: artifact, status: 404 },
  'svc.artifacts.v1.ArtifactsService/RemoveSbom': {
    gives: 'nothing',
    fields: (world) => ({ ...artifact(world), sha256: 'd'.repeat(64) }),
    status: 404,
  },
  'svc.artifacts.v1.ArtifactsService/RemoveAttestation': {
    guards: 'nothing',
    gives: 'nothing',
    fields: (world) => ({ ...artifact(world), attestationId: 'ats_0' }),
    status: 404,
  },
  'svc.artifacts.v1.ArtifactsService/ReportForRun': {
    guards: 'nothing',
    gives: 'nothing',
    fields: ({ ciRunId }) => ({
      runId: ciRunId,
      name: 'web',
      kind: 'file',
      digest: `sha256:${'c'.repeat(64)}`,
    }),
  },
  'svc.artifacts.v1.ArtifactsService/AttestEvaluation': {
    statements: 12,
    guards: 'nothing',
    gives: 'nothing',
    fields: (world) => ({
      ...artifact(world),
      suiteId: 'mmlu',
      suiteName: 'MMLU',
      score: 0.5,
      evaluatedAt: '2026-11-01T10:00:00Z',
      methodologyVersion: '1',
      caseResults: [],
    }),
  },
  'svc.artifacts.v1.ArtifactsService/Upload': {
    guards: 'nothing',
    gives: 'nothing',
    fields: (world) => ({ ...artifact(world), bundle: '{"messageSignature":{}}' }),
    status: 400,
  },
};
