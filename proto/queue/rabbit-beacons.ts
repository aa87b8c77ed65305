/**
 * Tells whether hints can be expected to arrive. `up` is a promise to those who wait for them, so it is
 * believed only while it is proven: a frozen, blocked or partitioned broker keeps its connections open, and
 * nothing else would tell.
 *
 * Every process sends a beacon to itself over the exchange of hints, and every server one to all over the
 * exchange of control events. Who does not hear its own, or no server at all for 6 s, is down. That the
 * sending fails says nothing: another process's dead queue is enough for it. One that the broker took and did
 * not bring means that it may have lost a binding: what is subscribed is then set up anew.
 */
import type { QueueLog } from './queue.ts';

/**
 * After so many intervals without a beacon what is subscribed is set up anew, and no server counts as in
 * reach. Setting up takes time: if it does not help, the next one waits twice as long.
 */
const SILENCE_MAX = 3;

export interface BeaconsOptions {
  readonly everyMs: number;
  readonly log: QueueLog;
  /** Both connections stand and control events arrive. */
  isConnected(): boolean;
  /**
   * Sends a beacon to oneself, and one to all if this is a server. It resolves when the broker has taken
   * them.
   */
  send(): Promise<unknown>;
  onSilence(of: Beacon): void;
}

type Beacon = 'own' | 'server';

export interface Beacons {
  readonly up: boolean;
  onUp(listener: (up: boolean) => void): () => void;
  heard(of: Beacon): void;
  /** The connection is lost or blocked. */
  doubt(reason: unknown): void;
  /** A connection, or what is subscribed on it, has come back: prove it now. */
  prove(): void;
  stop(): void;
}

export function createBeacons({ everyMs, log, ...options }: BeaconsOptions): Beacons {
  const listeners = new Set<(up: boolean) => void>();
  /** Intervals since a beacon of each was heard; of its own, those whose beacon the broker has taken. */
  const silent = { own: 0, server: SILENCE_MAX };
  let unheard = true;
  let taken = false;
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
    unheard = true;
    set(false, reason);
  };
  const prove = (): void => {
    if (!options.isConnected()) return;
    taken = false;
    options.send().then(
      () => (taken = true),
      () => undefined, // What is not heard is what counts.
    );
  };
  const quiet = (of: Beacon): void => {
    silent[of] += 1;
    if (Number.isInteger(Math.log2(silent[of] / SILENCE_MAX))) options.onSilence(of);
  };
  const tick = (): void => {
    if (!options.isConnected()) return;
    if (unheard) set(false, new Error('its own beacon did not come through the broker'));
    if (unheard && taken) quiet('own');
    quiet('server');
    if (silent.server > SILENCE_MAX) set(false, new Error('no beacon of a server came through the broker'));
    unheard = true;
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
      if (of === 'own') unheard = false;
      if (options.isConnected() && !unheard && silent.server < SILENCE_MAX) set(true);
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
