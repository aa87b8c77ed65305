/**
 * The pipeline asks this about a platform feature before anything else; the resolver of platform features
 * implements it.
 */
import type { FeatureKey } from '@svc/proto/features/manifest.ts';
import type { Gate } from '@svc/proto/http/call.ts';

export interface FeatureGate {
  /**
   * `disabled`: public feature that is off (403); `hidden`: internal feature that is off (404 of an unknown
   * route).
   */
  state(key: FeatureKey): Gate;
}
