/** The parts of this feature work with these when the installation has a provider of payments. */
import type { System } from '../../kit/feature.ts';
import type { FollowPlans } from '../plans/index.ts';
import type { Provider } from './provider.ts';

export interface BillingDeps extends Pick<System, 'db' | 'clock' | 'onError'> {
  readonly provider: Provider;
  readonly currency: string;
  readonly followPlans: FollowPlans;
}

/** Effects of an event, done in the transaction that ends it. */
export type Effects = (tx: Change) => Promise<void>;

export interface Change {
  readonly db: System['db'];
  readonly now: Date;
  /** Id of the provider's event, or of a look that the server takes by itself; the audit names it. */
  readonly eventId: string;
}

export const noEffects: Effects = async () => undefined;
