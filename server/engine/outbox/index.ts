/** Events on their way out: what was written with its cause is published with its effects, and what an effect could not take is tried again. */
import { declareFeature, eventEffects } from '../../kit/feature.ts';
import type { EventEffect } from '../../kit/feature.ts';
import { wakeWorkers } from '../../kit/jobs/index.ts';
import { startLoop } from '../../base/loop.ts';
import type { Loop } from '../../base/loop.ts';
import { workFeature } from '../work/index.ts';
import { createAdminEvents } from './admin.ts';
import type { Pass } from './attempt.ts';
import { effectName } from './effects.ts';
import { addParkedMetrics } from './metrics.ts';
import { playParked, purgeParked } from './parked.ts';
import { createPublisher } from './publish.ts';

export { isBehind, publishedUntil } from './behind.ts';
export { effectName, together } from './effects.ts';
export { publish } from './publish.ts';
export type { PublishDeps } from './publish.ts';

/** Often, so that a busy second is not published in one piece that holds a core of the database up. */
const EVERY_MS = 250;
const PARKED_EVERY_MS = 1_000;

export const outboxFeature = declareFeature({
  name: 'outbox',
  on: { work: workFeature },
  reads: ['outbox', 'outbox_parked'],
  writes: ['outbox'],
  start: (system) => {
    const { db, registry, onError } = system;
    const effects = (): readonly EventEffect[] => system.filled(eventEffects);
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
    return {
      services: [createAdminEvents()],
      loops: [
        () => start(EVERY_MS, createPublisher({ db, effects: effects(), onError })),
        () => {
          addParkedMetrics(
            { registry, db, onError },
            effects().map((effect) => effectName(db.sql, effect)),
          );
          return start(PARKED_EVERY_MS, async () => await playParked({ db, effects: effects(), onError }));
        },
      ],
      purges: [async () => await purgeParked(db.sql)],
    };
  },
});
