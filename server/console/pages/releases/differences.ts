/** These words tell how what a promotion brings differs from what runs. */
import type { PromotionArtifactChange, PromotionPackageChanges } from '@svc/sdk';

export interface Difference {
  readonly name: string;
  readonly kind: string;
  /** It is absent where the package is added. */
  readonly before: string | undefined;
  /** It is absent where the package is removed. */
  readonly after: string | undefined;
}

export interface Differences {
  /** `1 added, 2 changed` */
  readonly summary: string;
  readonly named: readonly Difference[];
  /** Those that are counted and have no name here. */
  readonly more: number;
}

/** Versions that are named of one package. */
const VERSIONS_MAX = 3;

/** Returns the first digits that a digest has behind its algorithm. */
const digits = (digest: string): string => digest.replace(/^\w+:/, '').slice(0, 12);

export function artifactDifferences(changes: readonly PromotionArtifactChange[]): Differences {
  const added = changes.filter(({ before }) => before === undefined).length;
  const removed = changes.filter(({ after }) => after === undefined).length;
  const named = changes.map(({ name, kind, before, after }) => ({
    name,
    kind,
    before: before && digits(before),
    after: after && digits(after),
  }));
  return {
    summary: summaryOf({ added, removed, changed: changes.length - added - removed }),
    named,
    more: 0,
  };
}

export function packageDifferences({ changes, ...counts }: PromotionPackageChanges): Differences {
  const { added, removed, changed } = counts;
  const named = changes.map(({ name, type, before, after }) => ({
    name,
    kind: type,
    before: versionsOf(before),
    after: versionsOf(after),
  }));
  return { summary: summaryOf(counts), named, more: added + removed + changed - changes.length };
}

function summaryOf(counts: Omit<PromotionPackageChanges, 'changes'>): string {
  const parts = (['added', 'removed', 'changed'] as const)
    .filter((word) => counts[word] > 0)
    .map((word) => `${counts[word].toLocaleString('en')} ${word}`);
  return parts.length === 0 ? 'none differs' : parts.join(', ');
}

function versionsOf(all: readonly string[]): string | undefined {
  if (all.length === 0) return undefined;
  const named = all.slice(0, VERSIONS_MAX).map((version) => version || 'of no known version');
  return `${named.join(', ')}${all.length > named.length ? ', …' : ''}`;
}
