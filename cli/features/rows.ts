/**
 * This file prints a map of resolved features as rows of a table: what staff are shown, or the bare `true`
 * that everybody else is shown.
 */
import type { ResolvedFeature } from '@svc/sdk';
import type { Output } from '../shell/output.ts';

const COLUMNS = ['key', 'enabled', 'reason', 'blockedBy', 'lifecycle', 'visibility'] as const;
/** All there is to say to those who see `true` alone. */
const BARE_COLUMNS = ['key', 'enabled'] as const;

type FeatureMap = Readonly<Record<string, ResolvedFeature>>;

export function isTable({ format }: Output): boolean {
  return format === 'table' || format === 'tsv';
}

/** Prints the features in the order of the answer, which is that of the manifest. */
export async function printFeatures(output: Output, features: FeatureMap): Promise<void> {
  const rows = Object.entries(features).map(([key, feature]) =>
    typeof feature === 'object' ? { key, ...feature } : { key, enabled: feature },
  );
  const isBare = rows.every((row) => !('reason' in row));
  // Programs get the same columns whoever asks.
  await output.rows([rows], output.format === 'table' && isBare ? BARE_COLUMNS : COLUMNS);
}
