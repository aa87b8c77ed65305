/**
 * A limit with hysteresis: what closes at one value opens again only at a better one, so that a value that
 * hovers there does not flap.
 */

export interface Gate {
  /** Looks at the value; true while closed. */
  closedAt(value: number): boolean;
  /** The value that keeps or makes it open: the limit while open, the better value while closed. */
  readonly wanted: number;
}

/** A value must be better than the limit by this share to open the gate again. */
const MARGIN = 0.1;

/** Closed below `least`, until the value is at least a tenth above it. */
export function minimumGate(least: number): Gate {
  return createGate(least, Math.ceil(least * (1 + MARGIN)), (value, limit) => value < limit);
}

/** Closed above `most`, until the value is at least a tenth below it. */
export function maximumGate(most: number): Gate {
  return createGate(most, Math.floor(most * (1 - MARGIN)), (value, limit) => value > limit);
}

function createGate(
  closesAt: number,
  opensAt: number,
  misses: (value: number, limit: number) => boolean,
): Gate {
  let closed = false;
  return {
    closedAt(value) {
      closed = misses(value, closed ? opensAt : closesAt);
      return closed;
    },
    get wanted() {
      return closed ? opensAt : closesAt;
    },
  };
}
