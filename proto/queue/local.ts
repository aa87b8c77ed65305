/**
 * The queue within one process, for a server and a gateway that share it. The same promises as the broker's:
 * a hint goes to everybody who is subscribed to its pool and kind at that moment, and is thrown away when
 * nobody is.
 */
import type { ControlEvent, HintListener, WorkKind, WorkQueue } from './queue.ts';

export function createLocalQueue(): WorkQueue {
  const pools = new Map<string, Set<HintListener>>();
  const controlListeners = new Set<(event: ControlEvent) => void>();
  let closed = false;

  return {
    hint: async (hint) => {
      if (closed) throw new Error('the queue is closed');
      const listeners = pools.get(keyOf(hint.poolId, hint.kind)) ?? new Set();
      // Not within the call, as from a broker, but before the submitter is answered.
      for (const listener of listeners)
        queueMicrotask(() => {
          if (listeners.has(listener)) listener.onHint(hint);
        });
    },
    subscribe: (poolId, kind, { onHint, onLive }) => {
      // A new object, so that one listener may subscribe twice.
      const listener = { onHint, onLive };
      const key = keyOf(poolId, kind);
      const listeners = pools.get(key) ?? new Set();
      pools.set(key, listeners.add(listener));
      setImmediate(() => {
        if (listeners.has(listener)) onLive(true);
      });
      return {
        get live() {
          return listeners.has(listener);
        },
        stop: async () => {
          listeners.delete(listener);
          if (listeners.size === 0 && pools.get(key) === listeners) pools.delete(key);
        },
      };
    },
    publishControl: async (event) => {
      for (const listener of controlListeners) listener(event);
    },
    onControl: (listener) => {
      controlListeners.add(listener);
      return () => void controlListeners.delete(listener);
    },
    get up() {
      return !closed;
    },
    onUp: () => () => undefined,
    close: async () => {
      closed = true;
      for (const listeners of pools.values()) listeners.clear();
      pools.clear();
    },
  };
}

function keyOf(poolId: string, kind: WorkKind): string {
  return `${kind} ${poolId}`;
}
