/**
 * Ten rules as people write them, and the artifact of 400 packages that they are asked about: all of them
 * hold.
 */
import {
  emptyArtifact,
  emptyInput,
  type PolicyArtifact,
  type PolicyInput,
} from '../../server/delivery/policies/engine/input.ts';

export const PACKAGES = 400;

export const RULES: readonly string[] = [
  `artifacts.all(a, a.packages.all(p, !('GPL-3.0-only' in p.licenses) && !('AGPL-3.0-only' in p.licenses)))`,
  `artifacts.all(a, a.packages.all(p, p.name != 'event-stream'))`,
  `artifacts.all(a, a.packages.all(p, p.version != ''))`,
  `artifacts.all(a, a.packages.all(p, !(p.type == 'npm' && p.name.startsWith('left-'))))`,
  `artifacts.all(a, a.packages.exists(p, p.name == 'library-399'))`,
  `artifacts.all(a, a.sbom.present)`,
  `artifacts.all(a, a.repository.startsWith('https://git.example.com/'))`,
  `artifacts.all(a, a.attestations.exists(t, t.predicateType == 'https://slsa.dev/provenance/v1' && t.verified))`,
  `actor.role in ['owner', 'admin', 'developer']`,
  `environment.name != 'production' || promotion.approvals.size() >= environment.requiredApprovals`,
];

/** Returns the packages, which are all of one version. */
export const packagesOf = (version: number) =>
  Array.from({ length: PACKAGES }, (_, n) => ({
    type: 'npm',
    name: `library-${n}`,
    version: `${version}.${n}.0`,
    licenses: ['MIT'],
  }));

export const artifactOf = (): Omit<PolicyArtifact, 'packages'> => ({
  ...emptyArtifact(),
  kind: 'image',
  repository: 'https://git.example.com/acme/web',
  attestations: [
    {
      predicateType: 'https://slsa.dev/provenance/v1',
      verified: true,
      signer: 'the service',
      builderId: '',
    },
  ],
  sbom: { present: true, byRunner: true, packages: PACKAGES, unread: [] },
});

export function inputOf(): PolicyInput {
  const empty = emptyInput();
  const actor = { ...empty.actor, role: 'owner' };
  return { ...empty, action: 'deploy', actor, artifacts: [{ ...artifactOf(), packages: packagesOf(1) }] };
}
