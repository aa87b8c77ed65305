/** Links chains of attestations: each link carries the digest of the one before it. */
import { createHash } from 'node:crypto';
import type { Operator } from '../../kit/resource/schema.ts';

/** Every link has these. */
interface Place {
  readonly sequence: number;
  readonly previousDigest: string | null;
}

interface Fact {
  readonly id: string;
  readonly teamId: string;
  readonly attestedBy: string;
  readonly attestedAt: Date;
}

export interface EnvironmentFact extends Fact {
  readonly environmentId: string;
  readonly regionId: string;
  readonly operator: Operator;
}

export interface ArtifactFact extends Fact {
  readonly artifactId: string;
  readonly artifactDigest: string;
  readonly builtIn: readonly string[];
  readonly storedIn: readonly string[];
  readonly deployedIn: readonly string[];
}

/**
 * As the contract describes it, so that anybody can compute it from an answer. No field can hold a line feed.
 */
export function digestOf(link: EnvironmentFact & Place): string {
  const { id, teamId, environmentId, sequence, regionId, operator } = link;
  return hashed(link, ['svc-residency-v1', id, teamId, environmentId, String(sequence), regionId, operator]);
}

export function artifactDigestOf(link: ArtifactFact & Place): string {
  const { id, teamId, artifactId, artifactDigest, sequence, builtIn, storedIn, deployedIn } = link;
  const lists = [builtIn, storedIn, deployedIn].map((list) => list.join(','));
  return hashed(link, [
    'svc-residency-artifact-v1',
    id,
    teamId,
    artifactId,
    artifactDigest,
    String(sequence),
    ...lists,
  ]);
}

function hashed({ attestedBy, attestedAt, previousDigest }: Fact & Place, lines: readonly string[]): string {
  const all = [...lines, attestedBy, attestedAt.toISOString(), previousDigest ?? ''];
  return createHash('sha256').update(all.join('\n')).digest('hex');
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
