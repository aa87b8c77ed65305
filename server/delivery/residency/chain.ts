/** Links chains of attestations: each link carries the digest of the one before it. */
import { hash } from 'node:crypto';
import type { RowOf } from '../../kit/resource/index.ts';
import type { artifactResidencyAttestations, residencyAttestations } from './schema.ts';

/** Every link has these. */
type Place = Pick<RowOf<typeof residencyAttestations>, 'sequence' | 'previousDigest'>;
type Fact = Pick<RowOf<typeof residencyAttestations>, 'id' | 'teamId' | 'attestedBy' | 'attestedAt'>;
type EnvironmentFact = Omit<RowOf<typeof residencyAttestations>, 'createdAt' | 'digest'>;
type ArtifactFact = Omit<RowOf<typeof artifactResidencyAttestations>, 'createdAt' | 'digest'>;

/**
 * As the contract describes it, so that anybody can compute it from an answer. No field can hold a line feed.
 */
export function digestOf(link: EnvironmentFact): string {
  const { id, teamId, environmentId, sequence, regionId, operator } = link;
  return hashed(link, ['svc-residency-v1', id, teamId, environmentId, String(sequence), regionId, operator]);
}

export function artifactDigestOf(link: ArtifactFact): string {
  const { id, teamId, artifactId, artifactDigest, sequence, builtIn, storedIn, deployedIn } = link;
  const lists = [builtIn, storedIn, deployedIn].map((list) => list.join(','));
  const ids = [id, teamId, artifactId, artifactDigest];
  return hashed(link, ['svc-residency-artifact-v1', ...ids, String(sequence), ...lists]);
}

function hashed({ attestedBy, attestedAt, previousDigest }: Fact & Place, lines: readonly string[]): string {
  const all = [...lines, attestedBy, attestedAt.toISOString(), previousDigest ?? ''];
  return hash('sha256', all.join('\n'), 'hex');
}

/** It is the link behind `last`. */
export function nextLink<F extends Fact>(
  fact: F,
  last: { readonly sequence: number; readonly digest: string } | undefined,
  digest: (link: F & Place) => string,
): F & Place & { readonly digest: string } {
  const link = { ...fact, sequence: (last?.sequence ?? 0) + 1, previousDigest: last?.digest ?? null };
  return { ...link, digest: digest(link) };
}
