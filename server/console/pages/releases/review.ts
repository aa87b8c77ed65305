/** What is to be known before a promotion is approved. */
import type { Promotion, PromotionPreview } from '@svc/sdk';
import { isUnauthenticated } from '../../api.ts';
import { promotions, teams } from './calls.ts';

export interface Review {
  readonly preview: PromotionPreview;
  /** User names by id; empty when they could not be read. */
  readonly names: ReadonlyMap<string, string>;
}

export async function readReview({ environmentId, id, teamId }: Promotion): Promise<Review> {
  const [preview, names] = await Promise.all([promotions.preview(environmentId, id), readNames(teamId)]);
  return { preview, names };
}

async function readNames(teamId: string): Promise<ReadonlyMap<string, string>> {
  try {
    return new Map((await teams.listMembers(teamId)).map(({ userId, username }) => [userId, username]));
  } catch (error) {
    if (isUnauthenticated(error)) throw error;
    return new Map();
  }
}
