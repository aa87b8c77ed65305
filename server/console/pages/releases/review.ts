/** What is to be known before a promotion is approved. */
import type { Policy, Promotion, PromotionPreview } from '@svc/sdk';
import { isMissing, isUnauthenticated } from '../../api.ts';
import { policies, promotions, teams } from './calls.ts';

/** Policies whose documents are read to see whether they can be overridden; beyond them the server decides. */
const POLICIES_READ_MAX = 20;

export interface Review {
  readonly preview: PromotionPreview;
  /** User names by id; empty when they could not be read. */
  readonly names: ReadonlyMap<string, string>;
  /** Names of the policies that refuse it and cannot be overridden; only owners need them. */
  readonly firm: readonly string[];
}

export async function readReview(
  { environmentId, id, teamId }: Promotion,
  isOwner: boolean,
): Promise<Review> {
  const [preview, names] = await Promise.all([promotions.preview(environmentId, id), readNames(teamId)]);
  const denying = preview.policies?.denied.map(({ policyId }) => policyId) ?? [];
  return { preview, names, firm: isOwner ? await readFirm(teamId, denying) : [] };
}

async function readNames(teamId: string): Promise<ReadonlyMap<string, string>> {
  try {
    return new Map((await teams.listMembers(teamId)).map(({ userId, username }) => [userId, username]));
  } catch (error) {
    if (isUnauthenticated(error)) throw error;
    return new Map();
  }
}

async function readFirm(teamId: string, denying: readonly string[]): Promise<readonly string[]> {
  const ids = [...new Set(denying)].slice(0, POLICIES_READ_MAX);
  const read = await Promise.all(ids.map(async (id) => await readPolicy(teamId, id)));
  return read.flatMap((policy) => (policy?.document?.['overridable'] === false ? [policy.name] : []));
}

async function readPolicy(teamId: string, id: string): Promise<Policy | undefined> {
  try {
    return await policies.get(teamId, id);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
