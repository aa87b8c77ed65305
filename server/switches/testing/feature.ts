/** Makes definitions of features, for tests. */
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';

/** Makes a feature that is public, finished and on, but for `more`. */
export function feature(key: string, more: Partial<FeatureDefinition> = {}): FeatureDefinition {
  return {
    key,
    description: 'A feature.',
    owner: 'team',
    since: '1.0.0',
    lifecycle: 'ga',
    visibility: 'public',
    default: 'enabled',
    ...more,
  };
}
