/**
 * Follows a stream while a page is open and in view. Each event has its listener called, and so has the first
 * event of a new connection, because nobody knows what was missed. A browser has six connections to a server
 * over HTTP/1.1, and forgotten tabs would take them all.
 */
import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { isUnauthenticated } from './api.ts';
import type { LastGood } from './last-good.ts';

const PAUSE_FIRST_MS = 500;
const PAUSE_MAX_MS = 15_000;

export interface LiveSource<T> {
  /** Without retries of its own: those would hide from us that the connection was lost. */
  open(ending: AbortSignal): AsyncIterable<T>;
  onEvent(event: T): unknown;
  onLost(error: unknown): void;
  /** It is true where nothing more is to come once the stream has ended by itself. */
  readonly ends?: boolean;
}

export interface Live {
  readonly on: ReadonlySignal<boolean>;
  /** Returns how it ends. */
  follow<T>(source: LiveSource<T>): () => void;
}

export function createLive(): Live {
  const on = signal(false);
  const follow = <T>(source: LiveSource<T>): (() => void) => {
    let following: AbortController | undefined;
    let over = false;
    const end = (): void => {
      following?.abort();
      following = undefined;
      on.value = false;
    };
    const onVisibility = (): void => {
      if (document.visibilityState === 'hidden') end();
      else if (following === undefined && !over) {
        following = new AbortController();
        void run(source, following.signal, on).then((finished) => {
          over ||= finished;
        });
      }
    };
    document.addEventListener('visibilitychange', onVisibility);
    onVisibility();
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      end();
    };
  };
  return { on, follow };
}

/** Returns whether the stream has come to its end. */
async function run<T>(source: LiveSource<T>, ending: AbortSignal, on: { value: boolean }): Promise<boolean> {
  let pauseMs = PAUSE_FIRST_MS;
  for (;;) {
    try {
      for await (const event of source.open(ending)) {
        pauseMs = PAUSE_FIRST_MS;
        if (ending.aborted) return false;
        on.value = true;
        await source.onEvent(event);
      }
      if (source.ends === true && !ending.aborted) {
        on.value = false;
        return true;
      }
    } catch (error) {
      // The page shows the sign-in form, and comes back to us afterwards.
      if (isUnauthenticated(error)) return false;
      if (!ending.aborted) source.onLost(error);
    }
    if (ending.aborted) return false;
    on.value = false;
    await pause(pauseMs * (0.5 + Math.random() / 2), ending);
    if (ending.aborted) return false;
    pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2);
  }
}

/** Ends early with the page, and when the machine says that it is online again. */
export async function pause(ms: number, ending: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      window.clearTimeout(timer);
      window.removeEventListener('online', done);
      ending.removeEventListener('abort', done);
      resolve();
    };
    const timer = window.setTimeout(done, ms);
    window.addEventListener('online', done, { once: true });
    ending.addEventListener('abort', done, { once: true });
  });
}

/** Time between two questions of a page while its stream is down. */
export const ASK_EVERY_MS = 5_000;

export interface StateSource<E> {
  /** Opens the stream, as that of a LiveSource. */
  open(ending: AbortSignal): AsyncIterable<E>;
  /** `first`: the first event of a connection, which tells how all stands. */
  onState(event: E, first: boolean): void;
  /** Asks instead; never rejects. */
  ask(): Promise<void>;
}

/** `asking`: the stream is down, so that changes show up some seconds late. */
export type LiveStatus = 'opening' | 'live' | 'asking';

export interface FollowedState {
  readonly status: ReadonlySignal<LiveStatus>;
  end(): void;
}

/** Follows a stream that tells a state, and asks for that state while there is no stream. */
export function followState<E>(source: StateSource<E>): FollowedState {
  const connection = createLive();
  const lost = signal(false);
  let asking: AbortController | undefined;
  const stopAsking = (): void => {
    asking?.abort();
    asking = undefined;
    lost.value = false;
  };
  const startAsking = async (): Promise<void> => {
    lost.value = true;
    if (asking !== undefined) return;
    asking = new AbortController();
    for await (const _ of every(ASK_EVERY_MS, asking.signal))
      if (document.visibilityState !== 'hidden') await source.ask();
  };
  const end = connection.follow({
    open: async function* (ending) {
      let first = true;
      for await (const event of source.open(ending)) {
        yield { event, first };
        first = false;
      }
    },
    onEvent: ({ event, first }) => {
      stopAsking();
      source.onState(event, first);
    },
    onLost: () => void startAsking(),
  });
  return {
    status: computed(() => (connection.on.value ? 'live' : lost.value ? 'asking' : 'opening')),
    end: () => {
      end();
      stopAsking();
    },
  };
}

/**
 * Says at once, and then every so often, that it is time to look. It is for what has no stream of its own.
 */
export async function* every(ms: number, ending: AbortSignal): AsyncGenerator<void> {
  while (!ending.aborted) {
    yield;
    await pause(ms, ending);
  }
}

/** Reads now, and anew from then on, while the tab is in view. Returns how it ends. */
export const followPolled = <T>({ load, markStale }: LastGood<T>, everyMs: number): (() => void) =>
  createLive().follow({
    open: (ending) => every(everyMs, ending),
    onEvent: async () => await load(),
    onLost: markStale,
  });
