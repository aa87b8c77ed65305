/** The chain of an environment's attestations: each link carries the digest of the one before it. */
import { createHash } from 'node:crypto';
import type { Operator } from '../../platform/resource/schema.ts';

export interface Link {
  readonly id: string;
  readonly teamId: string;
  readonly environmentId: string;
  readonly sequence: number;
  readonly regionId: string;
  readonly operator: Operator;
  readonly attestedBy: string;
  readonly attestedAt: Date;
  readonly previousDigest: string | null;
}

export interface Attestation extends Link {
  readonly digest: string;
}

/** As the contract describes it, so that anybody can compute it from an answer. No field can hold a line feed. */
export function digestOf(link: Link): string {
  const lines = [
    'svc-residency-v1',
    link.id,
    link.teamId,
    link.environmentId,
    String(link.sequence),
    link.regionId,
    link.operator,
    link.attestedBy,
    link.attestedAt.toISOString(),
    link.previousDigest ?? '',
  ];
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

/** The link behind `last`. */
export function nextLink(
  fact: Omit<Link, 'sequence' | 'previousDigest'>,
  last: Pick<Attestation, 'sequence' | 'digest'> | undefined,
): Attestation {
  const link: Link = {
    ...fact,
    sequence: (last?.sequence ?? 0) + 1,
    previousDigest: last?.digest ?? null,
  };
  return { ...link, digest: digestOf(link) };
}
