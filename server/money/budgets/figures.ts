/** Computes figures of a budget's limit and of what was spent. */
import { minorUnit } from '../amounts/index.ts';

/** They are percents of the limit; people are told at each of them. */
const THRESHOLDS = [50, 80, 100] as const;
const WARNING = 80;
const EXCEEDED = 100;

export type State = 'ok' | 'warning' | 'exceeded' | 'disabled';

/**
 * With one decimal, rounded down, so that 100 is never said before all is spent. Of a limit of 0: 0, or 100
 * once anything is spent.
 */
export function percentOf(spentPico: bigint, limitPico: bigint): number {
  if (limitPico === 0n) return spentPico > 0n ? 100 : 0;
  return Number((spentPico * 1_000n) / limitPico) / 10;
}

export const isExceeded = (percentUsed: number): boolean => percentUsed >= EXCEEDED;

export function passed(percentUsed: number): readonly number[] {
  return THRESHOLDS.filter((threshold) => percentUsed >= threshold);
}

export function stateOf({
  enabled,
  percentUsed,
  refusesAll,
}: {
  readonly enabled: boolean;
  readonly percentUsed: number;
  readonly refusesAll: boolean;
}): State {
  if (!enabled) return 'disabled';
  if (refusesAll || isExceeded(percentUsed)) return 'exceeded';
  return percentUsed >= WARNING ? 'warning' : 'ok';
}

const unitsOf = (currency: string): number => Number(10n ** 12n / minorUnit(currency));

/** Returns an amount of major units in minor ones, or undefined where they are not whole. */
export function wholeCents(major: number, currency: string): number | undefined {
  const units = unitsOf(currency);
  const cents = Math.round(major * units) + 0; // No minus before 0.
  return cents / units === major ? cents : undefined;
}

export function majorOf(cents: number, currency: string): number {
  return cents / unitsOf(currency);
}
