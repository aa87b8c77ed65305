/**
 * Phases of a build, by the numbers that the wire carries (BuildPhase, Phase) and the database stores; 0 is
 * none yet. They only go forward within one grant. From `PUBLISHING` on something outside may have changed,
 * so a build that loses its runner there is not run again by itself.
 */
import { apiError } from '@svc/proto/http/errors.ts';

export const CLONING = 1;
export const BUILDING = 2;
export const PUBLISHING = 3;
export const DEPLOYING = 4;

/** Refuses numbers that this version does not know. */
export function phaseNumber(phase: number | undefined): number {
  if (phase === undefined) return 0;
  if (phase >= CLONING && phase <= DEPLOYING) return phase;
  throw apiError('validation_failed', `phase is ${phase}, expected ${CLONING} to ${DEPLOYING}`);
}
