/** These loops run on workers. They publish events, and try again what an effect could not take. */
import { startLoop, type Loop } from '../../base/loop.ts';
import type { EventEffect, System } from '../feature.ts';
import { wakeWorkers } from '../jobs/index.ts';
import type { Pass } from './attempt.ts';
import { effectName } from './effects.ts';
import { addParkedMetrics } from './metrics.ts';
import { playParked } from './parked.ts';
import { createPublisher } from './publish.ts';

/** Often, so that a busy second is not published in one piece that holds a core of the database up. */
const EVERY_MS = 250;
const PARKED_EVERY_MS = 1_000;

export function startPublishing(
  { registry, db, onError }: Pick<System, 'registry' | 'db' | 'onError'>,
  effects: readonly EventEffect[],
): readonly Loop[] {
  const deps = { db, effects, onError };
  const start = (everyMs: number, run: () => Promise<Pass>): Loop =>
    startLoop({
      everyMs,
      onError,
      run: async () => {
        const { count, isMore } = await run();
        if (count > 0) wakeWorkers(db);
        return isMore;
      },
    });
  const names = effects.map((effect) => effectName(db.sql, effect));
  addParkedMetrics({ registry, db, onError }, names);
  return [start(EVERY_MS, createPublisher(deps)), start(PARKED_EVERY_MS, async () => await playParked(deps))];
}
