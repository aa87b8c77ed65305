/** The parts of this feature work with these when the installation has a provider of payments. */
import type { System } from '../../kit/feature.ts';
import { appendAudit, PLATFORM_CHAIN, type AuditAct } from '../../kit/ledger/index.ts';
import { PROVIDER_ACTOR } from '../credits/index.ts';
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

type ProviderAct = Pick<AuditAct, 'action' | 'target' | 'details'> & Partial<Pick<AuditAct, 'chain'>>;

/** Enters into the ledger what the provider told of, by default in the platform's chain. */
export async function recordProviderAct({ db, now, eventId }: Change, told: ProviderAct): Promise<void> {
  const act = { chain: PLATFORM_CHAIN, ...told, details: { ...told.details, eventId } };
  await appendAudit(db, { ...act, actor: PROVIDER_ACTOR, requestId: '' }, now);
}
