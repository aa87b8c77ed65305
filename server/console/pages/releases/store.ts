/** Releases of a project, what was promoted to each of its environments, and what runs there. */
import type { Environment, Promotion, Release } from '@svc/sdk';
import { createQuestion } from '../../question.ts';
import { promotions, releases } from './calls.ts';
import type { Column } from './words.ts';

/** No stream tells of promotions. Each reading asks once for each environment, and once for all. */
export const POLL_MS = 10_000;
export const RELEASES_PAGE = 50;
/** The most that the API gives at once: what is older than these is said to be unread. */
const PROMOTIONS_MAX = 200;
/** Columns that are shown side by side; each of the others has an address of its own. */
export const ENVIRONMENTS_MAX = 20;

export interface Delivery {
  readonly releases: readonly Release[];
  readonly nextCursor?: string;
  readonly columns: readonly Column[];
}

export async function readDelivery(
  projectId: string,
  environments: readonly Environment[],
): Promise<Delivery> {
  const [page, running, ...read] = await Promise.all([
    releases.listPage(projectId, { limit: RELEASES_PAGE }),
    promotions.running(projectId),
    ...environments.map(async ({ id }) => await promotions.listPage(id, { limit: PROMOTIONS_MAX })),
  ]);
  const columns = environments.map((environment, n): Column => {
    const { promotions: promoted = [], nextCursor } = read[n] ?? {};
    const runs = running.find(({ environmentId }) => environmentId === environment.id);
    return { environment, promotions: promoted, isWhole: nextCursor === undefined, running: runs };
  });
  return { ...page, columns };
}

/** The same with one promotion as the server answered it. */
export function withPromotion(delivery: Delivery, answered: Promotion): Delivery {
  const columns = delivery.columns.map((column) => ({
    ...column,
    promotions: column.promotions.map((each) => (each.id === answered.id ? answered : each)),
  }));
  return { ...delivery, columns };
}

/** Question about a promotion that the page asks. */
export interface PromotionDialog {
  readonly promotionId: string;
  readonly kind: 'review' | 'reject';
}

export const { dialog, ask, closeDialog } = createQuestion<PromotionDialog>();
