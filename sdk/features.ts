import type { ResolvedFeature } from './gen/index.ts';

/**
 * Tells whether a feature can be used, from what `platformFeatures.resolved()` says of it, whoever asked:
 * staff get an object, which is truthy also when the feature is off; everybody else gets `true`, or nothing.
 *
 * @example
 * const features = await sdk.platformFeatures.resolved(); if (isFeatureEnabled(features['host.ci'])) await
 * sdk.ci.listConnections(teamId);
 */
export function isFeatureEnabled(feature: ResolvedFeature | undefined): boolean {
  return typeof feature === 'object' ? feature.enabled : feature === true;
}
