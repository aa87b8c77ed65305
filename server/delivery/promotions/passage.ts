/** Policies are asked this about a promotion: it is the one way for the act and for its preview. */
import type { Environment } from '../../apps/environments/index.ts';
import type { Promoted } from '../../engine/builds/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Artifact } from '../artifacts/index.ts';
import { placeOf, type Passage } from '../policies/index.ts';
import type { Promotion } from './store.ts';

export const promotedOf = (
  { id, releaseId, version, requestedBy }: Promotion,
  approvals: readonly string[],
): Promoted => ({ release: { id: releaseId, version }, promotion: { id, requestedBy, approvals } });

export interface Passing {
  readonly action: 'promotion.create' | 'promotion.approve';
  readonly environment: Environment;
  readonly promotion: Promotion;
  readonly artifacts: readonly Artifact[];
  /** People whose approval counts. */
  readonly approvals: readonly string[];
}

export async function passageOf(
  ctx: Ctx,
  { action, environment, promotion, artifacts, approvals }: Passing,
): Promise<Passage> {
  const { facts, ...place } = await placeOf(ctx.db, environment);
  return {
    action,
    ...place,
    subject: promotion.id,
    facts: { ...facts, ...promotedOf(promotion, approvals) },
    artifactIds: artifacts.map((artifact) => artifact.id),
  };
}
