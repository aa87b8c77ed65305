/**
 * This file lists the plans. A plan that changes gets a new version: those who have the old one keep its
 * price at the provider, and its lookup key there.
 */
export interface CataloguePlan {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly priceCents: number;
  readonly includedSeconds: number;
  /** Work beyond what is included has its price; otherwise it is refused. */
  readonly overage: boolean;
  /** What is left out is the installation's own. */
  readonly limits: {
    readonly queuedMax?: number;
    readonly runnersMax?: number;
    readonly runTimeoutSecondsMax?: number;
  };
}

/** The one plan of an installation without a provider. */
export const SELF_HOSTED: CataloguePlan = {
  id: 'self_hosted',
  name: 'Self-hosted',
  version: 1,
  priceCents: 0,
  includedSeconds: 0,
  overage: true,
  limits: {},
};

export const FREE: CataloguePlan = {
  id: 'free',
  name: 'Free',
  version: 1,
  priceCents: 0,
  includedSeconds: 120_000,
  overage: false,
  limits: { queuedMax: 100, runnersMax: 3, runTimeoutSecondsMax: 3_600 },
};

const TEAM: CataloguePlan = {
  id: 'team',
  name: 'Team',
  version: 1,
  priceCents: 2_900,
  includedSeconds: 600_000,
  overage: true,
  limits: { queuedMax: 1_000, runnersMax: 25 },
};

const BUSINESS: CataloguePlan = {
  id: 'business',
  name: 'Business',
  version: 1,
  priceCents: 19_900,
  includedSeconds: 3_000_000,
  overage: true,
  limits: {},
};

/** Plans that are bought, cheapest first. */
export const PAID: readonly CataloguePlan[] = [TEAM, BUSINESS];

const BY_ID: ReadonlyMap<string, CataloguePlan> = new Map(
  [SELF_HOSTED, FREE, ...PAID].map((plan) => [plan.id, plan]),
);

/** A plan that an earlier release had and this one does not know counts as free. */
export function planById(id: string): CataloguePlan {
  return BY_ID.get(id) ?? FREE;
}

/**
 * Returns the key by which a price of the provider is found, so that no id of the provider is in settings.
 */
export function lookupKeyOf({ id, version }: CataloguePlan, currency: string): string {
  return `svc_${id}_${currency}_v${version}`;
}
