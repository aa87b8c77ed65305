/** The content of a release is named by its digest: anybody can compute it from what the release shows. */
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

export interface Content {
  readonly projectId: string;
  readonly version: string;
  /** Digests of the artifacts, in any order. */
  readonly artifacts: readonly string[];
}

export function digestOf({ projectId, version, artifacts }: Content): string {
  const text = canonicalize({ projectId, version, artifacts: artifacts.toSorted() });
  return `sha256:${hash('sha256', text ?? '', 'hex')}`;
}
