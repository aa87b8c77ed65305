/**
 * This file holds the present view of one process. The one pointer to it is owned by this closure and moves
 * in two ways: by `install`, when this process itself has committed a change, and by `refresh`, when the
 * database turns out to hold another revision. That is noticed by NOTIFY at once, and by looking twice a
 * second, because what is sent while the listening connection is down is lost. While the database is away the
 * last view stays.
 */
import { startLoop } from '../base/loop.ts';
import type { Database } from '../base/db/index.ts';
import type { Rules } from './effective.ts';
import { FEATURES_CHANNEL, readRevision, readStates, type StoredStates } from './store.ts';
import { createView, type View } from './view.ts';

/**
 * With NOTIFY lost every process is up to date within this time and one read: below the second that is
 * promised.
 */
const LOOK_EVERY_MS = 500;

export interface Follower {
  /** Never waits. */
  view(): View;
  /** States that a transaction of this process has written, at its commit. */
  install(states: StoredStates): void;
  /** Reads the states when the database holds another revision than the view. */
  catchUp(): Promise<void>;
  /** This calls the listener after each new view. Returns the function that ends this. */
  onChange(listener: () => void): () => void;
  stop(): Promise<void>;
}

export interface FollowDeps {
  readonly db: Database;
  readonly rules: Rules;
  onError(error: unknown): void;
}

/** Holds the pointer itself, and who hears of its moves. */
function createHolder(rules: Rules, first: StoredStates, onError: (error: unknown) => void) {
  const listeners = new Set<() => void>();
  let view = createView(rules, first);
  return {
    view: (): View => view,
    swap: (states: StoredStates): void => {
      view = createView(rules, states);
      for (const listener of listeners) {
        try {
          listener();
        } catch (error) {
          onError(error); // The others must hear of it all the same.
        }
      }
    },
    onChange: (added: () => void) => {
      const own = (): void => added();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    clear: (): void => listeners.clear(),
  };
}

export async function startFollowing({ db, rules, onError }: FollowDeps): Promise<Follower> {
  const holder = createHolder(rules, await readStates(db.sql), onError);
  let installs = 0;
  let troubled = false;
  let stopped = false;

  const refresh = oneAtATime(async (again) => {
    const before = installs;
    const states = await readStates(db.sql);
    // Read before a change of our own was committed, perhaps: then it is older than what we have.
    if (before !== installs) again();
    else if (states.revision !== holder.view().revision) holder.swap(states);
  });
  const catchUp = async (): Promise<void> => {
    if ((await readRevision(db.sql)) !== holder.view().revision) await refresh();
  };
  /** An outage is told once, not twice a second. */
  const lookAgain = async (): Promise<void> => {
    try {
      await catchUp();
      troubled = false;
    } catch (error) {
      if (!troubled && !stopped) onError(error);
      troubled = true;
    }
  };

  const listener = await db.listen(
    FEATURES_CHANNEL,
    (payload) => {
      if (payload !== String(holder.view().revision)) void lookAgain();
    },
    () => void lookAgain(),
  );
  const looking = startLoop({ everyMs: LOOK_EVERY_MS, run: lookAgain, onError });
  return {
    view: holder.view,
    install: (states) => {
      installs += 1;
      // Two commits of this process may be told in either order.
      if (states.revision > holder.view().revision) holder.swap(states);
    },
    catchUp,
    onChange: holder.onChange,
    stop: async () => {
      stopped = true;
      await looking.stop();
      await listener.stop();
      holder.clear();
    },
  };
}

/**
 * Who asks while a run is under way gets another one behind it, since what they know of may have come too
 * late for the first.
 */
function oneAtATime(work: (again: () => void) => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let wanted = false;
  const again = (): void => {
    wanted = true;
  };
  const run = async (): Promise<void> => {
    try {
      while (wanted) {
        wanted = false;
        await work(again);
      }
    } finally {
      running = undefined; // in the same turn as the last look at `wanted`
    }
  };
  return async () => {
    wanted = true;
    running ??= run();
    await running;
  };
}
