/**
 * Keeps the processes of a rig up, as whoever runs them in life would: what ends although nobody killed it is
 * started again and remembered as a crash. What happens is written to the journal of the scenario that is
 * under way.
 */
import type { RigEntry } from './entries.ts';
import type { Journal } from './journal.ts';
import type { ManagedProcess } from './managed-process.ts';

export interface Supervisor {
  /** Down on purpose, or on its way up: nothing else is done to it, and its end is no crash. */
  readonly handled: Set<string>;
  /** Processes that ended although nobody killed them, with the end of what they printed. */
  readonly crashes: string[];
  /** Journal of the scenario that is under way. */
  journal: Journal<RigEntry> | undefined;
  /** Starts it, and again whenever it ends although nobody killed it. */
  up(one: ManagedProcess): Promise<void>;
  /**
   * A server whose connections are cut while it starts ends itself; whoever supervises it starts it again, as
   * this does.
   */
  startPatiently(one: ManagedProcess): Promise<void>;
  /** From now on nothing is started again. */
  stop(): void;
}

const STARTS_MAX = 5;

export function createSupervisor(): Supervisor {
  let stopping = false;
  const watch = async (one: ManagedProcess): Promise<void> => {
    const code = await one.exited();
    if (stopping || own.handled.has(one.name)) return;
    own.handled.add(one.name);
    await own.journal?.append({ event: 'dead', process: one.name });
    own.crashes.push(`${one.name} ended by itself with ${code}:\n${one.output().slice(-3_000)}`);
    await own.up(one);
    own.handled.delete(one.name);
  };
  const own: Supervisor = {
    handled: new Set(),
    crashes: [],
    journal: undefined,
    up: async (one) => {
      await own.startPatiently(one);
      if (stopping) return;
      await own.journal?.append({ event: 'started', process: one.name, pid: one.pid });
      void watch(one).catch((error: unknown) =>
        own.crashes.push(`${one.name} did not come back: ${String(error)}`),
      );
    },
    startPatiently: async (one) => {
      for (let tries = 1; !stopping; tries += 1) {
        try {
          return await one.start();
        } catch (error) {
          await one.kill();
          if (tries >= STARTS_MAX) throw error;
        }
      }
    },
    stop: () => {
      stopping = true;
    },
  };
  return own;
}
