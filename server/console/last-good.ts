/**
 * Data read from the server of which the last good state is kept: when reading fails, the page goes on
 * showing it, says since when it is no longer known to be true, and tries again by itself.
 */
import { signal, type ReadonlySignal } from '@preact/signals';
import { explain, isUnauthenticated } from './api.ts';
import { onForget } from './session.ts';

const RETRY_FIRST_MS = 2_000;
const RETRY_MAX_MS = 15_000;

export interface LastGood<T> {
  readonly data: ReadonlySignal<T | undefined>;
  readonly loading: ReadonlySignal<boolean>;
  /** Undefined while the data can be trusted. */
  readonly unknown: ReadonlySignal<{ readonly sinceMs: number; readonly why: string } | undefined>;
  /**
   * Reads again; a call during a reading has one more done after it, because that one may have begun too
   * early. Never rejects.
   */
  load(): Promise<void>;
  /** Takes what is known from elsewhere, such as the answer of a change. */
  set(data: T): void;
  /**
   * Takes what the server told of its own accord. It is as good as a reading, and better than one that is
   * under way.
   */
  replace(data: T): void;
  /** The connection that would have told of changes broke. */
  markStale(error: unknown): void;
  /** Reads no more by itself. */
  end(): void;
}

export function lastGood<T>(read: () => Promise<T>): LastGood<T> {
  const data = signal<T | undefined>(undefined);
  const loading = signal(false);
  const { unknown, settle, markStale } = createStaleness(() => void load());
  let running: Promise<void> | undefined;
  let again = false;
  /** An answer to somebody who has left since, or that came behind later news, is thrown away. */
  let owner = 0;

  const forgetNoMore = onForget(() => {
    owner += 1;
    data.value = undefined;
    settle();
  });

  const readOnce = async (): Promise<void> => {
    const reader = owner;
    try {
      const now = await read();
      if (reader !== owner) return;
      data.value = now;
      settle();
    } catch (error) {
      if (reader === owner) markStale(error);
    }
  };

  const readAll = async (): Promise<void> => {
    loading.value = true;
    do {
      again = false;
      await readOnce();
    } while (again);
    loading.value = false;
    running = undefined;
  };

  function load(): Promise<void> {
    again = running !== undefined;
    return (running ??= readAll());
  }

  return {
    data,
    loading,
    unknown,
    load,
    set: (value) => void (data.value = value),
    replace: (value) => {
      owner += 1;
      data.value = value;
      settle();
    },
    markStale,
    end: () => {
      owner += 1;
      settle();
      forgetNoMore();
    },
  };
}

/** Since when it is unknown, and the tries to know it again, further and further apart. */
function createStaleness(retry: () => void) {
  const unknown = signal<{ sinceMs: number; why: string } | undefined>(undefined);
  let timer: number | undefined;
  let pauseMs = RETRY_FIRST_MS;
  const settle = (): void => {
    window.clearTimeout(timer);
    pauseMs = RETRY_FIRST_MS;
    unknown.value = undefined;
  };
  const markStale = (error: unknown): void => {
    // The sign-in form says what there is to say.
    if (isUnauthenticated(error)) return;
    unknown.value = { sinceMs: unknown.peek()?.sinceMs ?? Date.now(), why: explain(error) };
    window.clearTimeout(timer);
    timer = window.setTimeout(retry, pauseMs);
    pauseMs = Math.min(RETRY_MAX_MS, pauseMs * 2);
  };
  return { unknown, settle, markStale };
}
