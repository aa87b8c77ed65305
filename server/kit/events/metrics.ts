/** This file counts effects that wait, for the scrape of a worker. */
import type { System } from '../feature.ts';
import { addFigures } from '../figures.ts';

interface Figure {
  readonly effect: string;
  readonly waiting: number;
  readonly dead: number;
}

export function addParkedMetrics(
  { registry, db, onError }: Pick<System, 'registry' | 'db' | 'onError'>,
  effects: readonly string[],
): void {
  addFigures<Figure>(registry, {
    prefix: 'svc_event_effects',
    label: 'effect',
    known: effects,
    gauges: [
      ['waiting', 'waiting', 'Effects of events that failed and are tried again.'],
      ['dead', 'dead', 'Effects of events that failed for good. svc admin-events list shows them.'],
    ],
    read: async () =>
      await db.sql<Figure[]>`
      select effect, count(*) filter (where state = 'waiting')::int as waiting, count(*) filter (where state = 'dead')::int as dead
      from outbox_parked group by effect`,
    onError,
  });
}
