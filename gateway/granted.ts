/**
 * What this gateway has handed out lately, so that the hint of an item which a poll found by itself is thrown away instead of costing a
 * claim that must lose. A hint made after the item came back carries a higher epoch and is never thrown away.
 */
import type { Offer } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import type { WorkHint } from '@svc/proto/queue/queue.ts';

/** Items remembered; the oldest is forgotten, which only costs the claim. */
const ITEMS_MAX = 10_000;

export interface Granted {
  note(offer: Offer): void;
  /** The hint is older than a grant that this gateway knows of. */
  outdates(hint: WorkHint): boolean;
}

export function createGranted(itemsMax: number = ITEMS_MAX): Granted {
  const epochs = new Map<string, number>();
  return {
    note({ work }) {
      if (work.value === undefined) return;
      const { id, epoch } = work.value;
      epochs.delete(id);
      epochs.set(id, epoch);
      if (epochs.size > itemsMax) for (const oldest of epochs.keys()) return void epochs.delete(oldest);
    },
    outdates: ({ workId, epoch }) => epoch !== undefined && epoch < (epochs.get(workId) ?? 0),
  };
}
