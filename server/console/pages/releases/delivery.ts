/** Releases of a project, what was promoted to each of its environments, and what runs there. */
import type { Environment, Promotion, PromotionsListResponse, Release, RunningImage } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { promotions, releases } from './calls.ts';
import type { Column } from './words.ts';

/** No stream tells of promotions. Each reading asks once for each environment, and once for all. */
const POLL_MS = 10_000;
export const RELEASES_PAGE = 50;
/** The most that the API gives at once: what is older than these is said to be unread. */
const PROMOTIONS_MAX = 200;
/** Columns that are shown side by side; each of the others has an address of its own. */
export const ENVIRONMENTS_MAX = 20;

export interface Delivery {
  readonly releases: readonly Release[];
  readonly nextCursor?: string;
  readonly running: readonly RunningImage[];
  /** A page of promotions an environment, by its id. */
  readonly promoted: ReadonlyMap<string, PromotionsListResponse>;
}

export function useDelivery(projectId: string, environments: readonly Environment[]) {
  const ids = environments.map(({ id }) => id);
  return useRead(
    `delivery ${projectId} ${ids.join(' ')}`,
    async () => await readDelivery(projectId, ids),
    POLL_MS,
  );
}

async function readDelivery(projectId: string, ids: readonly string[]): Promise<Delivery> {
  const [page, running, promoted] = await Promise.all([
    releases.listPage(projectId, { limit: RELEASES_PAGE }),
    promotions.running(projectId),
    Promise.all(
      ids.map(async (id) => [id, await promotions.listPage(id, { limit: PROMOTIONS_MAX })] as const),
    ),
  ]);
  return { ...page, running, promoted: new Map(promoted) };
}

export const columnsOf = (
  { running, promoted }: Delivery,
  environments: readonly Environment[],
): readonly Column[] =>
  environments.map((environment) => {
    const { promotions: own = [], nextCursor } = promoted.get(environment.id) ?? {};
    const runs = running.find(({ environmentId }) => environmentId === environment.id);
    return { environment, promotions: own, isWhole: nextCursor === undefined, running: runs };
  });

/** The same with one promotion as the server answered it. */
export function withPromotion(delivery: Delivery, answered: Promotion): Delivery {
  const known = delivery.promoted.get(answered.environmentId);
  if (known === undefined) return delivery;
  const now = known.promotions.map((each) => (each.id === answered.id ? answered : each));
  const promoted = new Map(delivery.promoted).set(answered.environmentId, { ...known, promotions: now });
  return { ...delivery, promoted };
}
