/**
 * This file counts effects that wait, for the scrape of a worker. The number is read from the database, and
 * is the same at every worker.
 */
import { Gauge } from 'prom-client';
import type { System } from '../feature.ts';

interface Figure {
  readonly effect: string;
  readonly waiting: number;
  readonly dead: number;
}

const GAUGES: ReadonlyArray<{ readonly of: Exclude<keyof Figure, 'effect'>; readonly help: string }> = [
  { of: 'waiting', help: 'Effects of events that failed and are tried again.' },
  { of: 'dead', help: 'Effects of events that failed for good. svc admin-events list shows them.' },
];

export function addParkedMetrics(
  { registry, db, onError }: Pick<System, 'registry' | 'db' | 'onError'>,
  effects: readonly string[],
): void {
  for (const { of, help } of GAUGES)
    new Gauge({
      name: `svc_event_effects_${of}`,
      help,
      labelNames: ['effect'],
      registers: [registry],
      async collect() {
        this.reset();
        for (const effect of effects) this.set({ effect }, 0);
        try {
          const rows = await db.sql<Figure[]>`
            select effect, count(*) filter (where state = 'waiting')::int as waiting, count(*) filter (where state = 'dead')::int as dead
            from outbox_parked group by effect`;
          for (const row of rows) this.set({ effect: row.effect }, row[of]);
        } catch (error) {
          this.reset();
          onError(error);
        }
      },
    });
}
