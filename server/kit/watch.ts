/**
 * This file streams how something stands, to any number of watchers in this process. Those who watch the same
 * thing share one look at the database: it is made every second while somebody watches, and never otherwise.
 * Looking, rather than being told, is what sees every change, whichever process and whichever statement made
 * it.
 *
 * The loop of a room owns its state: looking → resting → looking … until the last watcher has left or a look
 * has failed. Whoever comes is answered from a look that began after their coming, so that a stream never
 * opens with less than a call at that moment would have read.
 */
import { hash } from 'node:crypto';

const LOOK_EVERY_MS = 1_000;

/**
 * What there is to see for these watchers, who are never none. `before` is what the last look of the room
 * saw: answered again, it means that nothing changed. What it throws ends the streams of them all.
 */
export type Look<W, S> = (watchers: readonly W[], before: S | undefined) => Promise<S>;

export interface Watches<W, S> {
  /**
   * The present state, and then each that differs from the one before; who reads slowly is spared those in
   * between. Ends with the signal.
   */
  watch(key: string, watcher: W, signal: AbortSignal): AsyncGenerator<S>;
}

interface Seat<W, S> {
  readonly watcher: W;
  state?: S;
  failed?: { readonly error: unknown };
  wake(): void;
}

interface Room<W, S> {
  readonly seats: Set<Seat<W, S>>;
  /** Somebody came, or the last one left, since the look began: no rest. */
  restless: boolean;
  wake(): void;
}

export function createWatches<W, S>(look: Look<W, S>, everyMs = LOOK_EVERY_MS): Watches<W, S> {
  const rooms = new Map<string, Room<W, S>>();

  const run = async (key: string, room: Room<W, S>): Promise<void> => {
    let before: S | undefined;
    while (room.seats.size > 0) {
      const seats = [...room.seats];
      room.restless = false;
      try {
        before = await look(
          seats.map(({ watcher }) => watcher),
          before,
        );
      } catch (error) {
        for (const seat of room.seats) {
          seat.failed = { error };
          seat.wake();
        }
        break;
      }
      for (const seat of seats) {
        seat.state = before;
        seat.wake();
      }
      if (!room.restless) await rest(room, everyMs);
    }
    rooms.delete(key);
  };

  const enter = (key: string, seat: Seat<W, S>): Room<W, S> => {
    const known = rooms.get(key);
    const room = known ?? { seats: new Set(), restless: false, wake: noOne };
    room.seats.add(seat);
    if (known !== undefined) disturb(room);
    else {
      rooms.set(key, room);
      void run(key, room);
    }
    return room;
  };

  return {
    watch: async function* (key, watcher, signal) {
      const seat: Seat<W, S> = { watcher, wake: noOne };
      const room = enter(key, seat);
      try {
        for (let told: S | undefined; ;) {
          if (seat.failed !== undefined) throw seat.failed.error;
          if (signal.aborted) return;
          if (seat.state === told) {
            await news(seat, signal);
            continue;
          }
          told = seat.state;
          if (told !== undefined) yield told;
        }
      } finally {
        room.seats.delete(seat);
        if (room.seats.size === 0) disturb(room);
      }
    },
  };
}

const noOne = (): void => undefined;

function disturb(room: Pick<Room<unknown, unknown>, 'restless' | 'wake'>): void {
  room.restless = true;
  room.wake();
}

async function rest(room: Pick<Room<unknown, unknown>, 'wake'>, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    room.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  room.wake = noOne;
}

async function news(seat: Pick<Seat<unknown, unknown>, 'wake'>, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done);
      resolve();
    };
    seat.wake = done;
    signal.addEventListener('abort', done, { once: true });
  });
  seat.wake = noOne;
}

/** Equal for what looks equal: 22 characters, safe as the id of an event. */
export function fingerprint(value: unknown): string {
  const text = JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each,
  );
  return hash('sha256', text, 'base64url').slice(0, 22);
}
