/**
 * Randomness of the fault tests: everything follows from one seed, so that a failing run can be had again.
 */
import { createHash } from 'node:crypto';

export type Random = ReturnType<typeof randomOf>;

/** mulberry32 over 32 bits of a hash of the parts, so that neighbouring seeds have nothing in common. */
export function randomOf(...parts: readonly (string | number)[]) {
  let state = createHash('sha256').update(JSON.stringify(parts)).digest().readUInt32LE(0);
  /** Gives numbers evenly in [0, 1). */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  /** Gives a whole number from `min` to `max`, both included. */
  const whole = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    whole,
    chance: (share: number): boolean => next() < share,
    shuffled: <T>(items: readonly T[]): T[] => {
      const left = [...items];
      return items
        .map(() => left.splice(whole(0, left.length - 1), 1)[0])
        .filter((item) => item !== undefined);
    },
  };
}
