/**
 * Follows changes that other people make: the stream says only that something changed, so each event has the
 * list read again.
 */
import { platformFeatures } from '../../api.ts';
import { createLive } from '../../live.ts';
import { list } from './feature-store.ts';

const connection = createLive();

export const live = connection.on;

/** Returns how it ends. */
export function followChanges(): () => void {
  return connection.follow({
    open: (ending) => platformFeatures.watch({}, { signal: ending, maxRetries: 0 }),
    onEvent: async () => await list.load(),
    onLost: list.markStale,
  });
}
