/**
 * A scrape is told about the features from the present view at that moment, so that nothing needs to be kept
 * up to date.
 */
import { Gauge, type Registry } from 'prom-client';
import type { Snapshot } from './snapshot.ts';

export function addFeatureMetrics(
  registry: Registry,
  features: { snapshot(): Pick<Snapshot, 'features'>; revision(): number },
): void {
  const registers = [registry];
  new Gauge({
    name: 'svc_platform_feature_enabled',
    help: '1 while the platform feature can be used, with the reason of its state.',
    labelNames: ['key', 'lifecycle', 'reason'],
    registers,
    collect() {
      // A reason that was left behind would say two things about one feature.
      this.reset();
      for (const { key, enabled, reason, lifecycle = 'unknown' } of features.snapshot().features)
        this.set({ key, lifecycle, reason }, enabled ? 1 : 0);
    },
  });
  new Gauge({
    name: 'svc_platform_feature_revision',
    help: 'Number of the state of all switches that this process answers from; processes that differ for long do not hear of each other.',
    registers,
    collect() {
      this.set(features.revision());
    },
  });
}
