/**
 * Which runners this process has noted as seen lately, so that the polls of a busy runner need not even look. What is forgotten is noted once more.
 */
import type { Clock } from '../../platform/clock.ts';

const RUNNERS_MAX = 50_000;

/** Answers whether a poll must note its runner: after half of `everyMs`, or when the reasons why it takes no work have changed. */
export function createNoted(
  everyMs: number,
  clock: Pick<Clock, 'monotonicMs'>,
): (runnerId: string, notReady: readonly string[]) => boolean {
  const known = new Map<string, { readonly atMs: number; readonly notReady: string }>();
  return (runnerId, notReady) => {
    const nowMs = clock.monotonicMs();
    const reasons = notReady.join('\n');
    const before = known.get(runnerId);
    if (before !== undefined && before.notReady === reasons && nowMs - before.atMs < everyMs / 2)
      return false;
    known.delete(runnerId);
    known.set(runnerId, { atMs: nowMs, notReady: reasons });
    const oldest = known.size > RUNNERS_MAX ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    return true;
  };
}
