/** Says by whom it is seen what a feature adds to an answer about a whole team. */
import type { FeatureKey } from '@svc/proto/features/manifest.ts';
import type { Ctx } from './context.ts';
import type { FeatureGate } from './feature-gate.ts';
import { roleGrants } from './scopes.ts';

export interface SeenBy {
  /** Scope by which it is seen. */
  readonly scope: string;
  /** Platform feature without which it is not there, like the RPCs that it gates. Default: none. */
  readonly feature?: FeatureKey;
}

/** Returns what decides whether the caller sees something of a team; who has no role there sees nothing. */
export function seenIn(
  { teams, caller }: Pick<Ctx, 'teams' | 'caller'>,
  gate: FeatureGate,
  teamId: string,
): (by: SeenBy) => boolean {
  const role = teams.role(teamId);
  return ({ scope, feature }) =>
    role !== undefined &&
    caller.scopes.has(scope) &&
    roleGrants(role, scope) &&
    (feature === undefined || gate.state(feature) === 'open');
}
