/**
 * Whether hints can be expected to arrive. `up` is a promise to those who wait for them, so it is believed only while it is proven: a frozen, blocked or partitioned
 * broker keeps its connections open, and nothing else would tell.
 *
 * Every process sends a beacon to itself over the exchange of hints, and every server one to all over the exchange of control events. Who does not hear
 * its own, or no server at all for 6 s, is down. A beacon that stays away although the connection stands means
 * that the broker has lost a binding: what is subscribed is then set up anew.
 */
import type { QueueLog } from './queue.ts';

/** After so many intervals without a beacon what is subscribed is set up anew, and no server counts as in reach. */
const SILENCE_MAX = 3;

export interface BeaconsOptions {
  readonly everyMs: number;
  readonly log: QueueLog;
  /** Both connections stand and control events arrive. */
  isConnected(): boolean;
  /** To oneself, and to all if this is a server. */
  send(): Promise<unknown>;
  onSilence(of: 'own' | 'server'): void;
}

export interface Beacons {
  readonly up: boolean;
  onUp(listener: (up: boolean) => void): () => void;
  heard(of: 'own' | 'server'): void;
  /** The connection is lost or blocked. */
  doubt(reason: unknown): void;
  /** A connection, or what is subscribed on it, has come back: prove it now. */
  prove(): void;
  stop(): void;
}

export function createBeacons({ everyMs, log, ...options }: BeaconsOptions): Beacons {
  const listeners = new Set<(up: boolean) => void>();
  /** Intervals since a beacon of each was heard. */
  const silent = { own: 1, server: SILENCE_MAX };
  let up = false;
  let stopped = false;
  const set = (now: boolean, reason?: unknown): void => {
    if (up === now || stopped) return;
    up = now;
    if (now) log.info({}, 'the broker is up');
    else log.warn({ err: reason }, 'the broker is down; work is claimed without hints');
    for (const listener of listeners) listener(now);
  };
  const doubt = (reason: unknown): void => {
    silent.own = Math.max(silent.own, 1);
    set(false, reason);
  };
  const prove = (): void => {
    if (options.isConnected()) options.send().catch(doubt);
  };
  const tick = (): void => {
    if (!options.isConnected()) return;
    for (const of of ['own', 'server'] as const) {
      if (silent[of] >= (of === 'own' ? 1 : SILENCE_MAX))
        set(
          false,
          new Error(`no beacon of ${of === 'own' ? 'its own' : 'a server'} came through the broker`),
        );
      if (silent[of] > 0 && silent[of] % SILENCE_MAX === 0) options.onSilence(of);
      silent[of] += 1;
    }
    prove();
  };
  const ticking = setInterval(tick, everyMs);
  ticking.unref();
  return {
    get up() {
      return up;
    },
    onUp: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    heard: (of) => {
      silent[of] = 0;
      if (options.isConnected() && silent.own === 0 && silent.server < SILENCE_MAX) set(true);
    },
    doubt,
    prove,
    stop: () => {
      clearInterval(ticking);
      stopped = true;
      up = false;
    },
  };
}
