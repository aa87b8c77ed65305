/**
 * The health of a runner is one word. The first rule that holds wins: what the team did before what the
 * machine does.
 */
import { Health } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { isBelow } from '../work/index.ts';
import type { runners } from './schema.ts';

export type HealthFacts = Pick<
  typeof runners.$inferSelect,
  'revokedAt' | 'strikes' | 'pausedAt' | 'pausedUntil' | 'lastSeenAt' | 'draining' | 'notReady' | 'version'
>;

export interface HealthLimits {
  readonly strikesMax: number;
  readonly silentMs: number;
  readonly minVersion: string;
  readonly recommendedVersion: string;
}

export function isPaused(
  { pausedAt, pausedUntil }: Pick<HealthFacts, 'pausedAt' | 'pausedUntil'>,
  now: Date,
): boolean {
  return pausedAt !== null && (pausedUntil === null || pausedUntil > now);
}

export function healthOf(
  facts: HealthFacts,
  now: Date,
  { strikesMax, silentMs, minVersion }: HealthLimits,
): Health {
  if (facts.revokedAt !== null) return Health.REVOKED;
  if (facts.strikes >= strikesMax) return Health.FLAGGED;
  if (isPaused(facts, now)) return Health.PAUSED;
  if (facts.lastSeenAt === null) return Health.NEVER_SEEN;
  if (now.getTime() - facts.lastSeenAt.getTime() > silentMs) return Health.SILENT;
  if (isBelow(facts.version, minVersion)) return Health.VERSION_TOO_OLD;
  if (facts.draining) return Health.DRAINING;
  return facts.notReady.length > 0 ? Health.NOT_READY : Health.LIVE;
}
