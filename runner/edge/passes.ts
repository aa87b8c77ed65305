/**
 * Brings nginx to what is wanted, in passes: one at a time, and each for all who asked before it began. A
 * pass that is asked for waits a moment for others, because a reload ends idle connections of clients; a
 * switch of an app does not wait.
 */
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Nginx } from './nginx/process.ts';
import type { SiteFiles } from './nginx/site-files.ts';

export interface PassOptions {
  nginx: Nginx;
  files: SiteFiles;
  /** Makes the files of all sites, by environment, as they are wanted now. */
  render: () => ReadonlyMap<string, string>;
  /** Runs first, and again after nginx serves. */
  before: () => Promise<void>;
  after: () => Promise<void>;
  gatherMs: number;
  log: Log;
}

interface Batch {
  done: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
  timer?: NodeJS.Timeout;
}

export type Passes = ReturnType<typeof createPasses>;

export function createPasses(options: PassOptions) {
  const { nginx, files, render, log } = options;
  let refused: ReadonlyMap<string, string> = new Map();
  /** A daemon that was killed may have left files of which nginx does not know yet. */
  let isStale = true;
  let turn: Promise<void> = Promise.resolve();
  let waiting: Batch | undefined;
  let isStopped = false;

  const needsPass = () => isStale || !nginx.isRunning() || files.differs(render());
  const pass = async (): Promise<void> => {
    await options.before();
    // Files that were written in part make it stale as well.
    const wasStale = isStale;
    isStale = true;
    const placed = await files.place(render());
    isStale = wasStale || placed.isChanged;
    const isRunning = nginx.isRunning();
    refused = new Map([...placed.refused, ...(isRunning ? [] : await files.repair())]);
    for (const [environment, problem] of refused) log.warn({ environment, problem }, 'nginx refuses a site');
    if (!isRunning) await nginx.start();
    else if (isStale) await nginx.reload();
    isStale = false;
    await options.after();
  };
  const run = (batch: Batch): void => {
    clearTimeout(batch.timer);
    if (waiting === batch) waiting = undefined;
    turn = turn
      .then(pass)
      .then(batch.resolve, (error: unknown) =>
        batch.reject(error instanceof Error ? error : new Error(errorText(error))),
      );
  };
  const ask = (waitMs: number): Batch => {
    if (isStopped) throw new Error('the edge was stopped');
    const batch = (waiting ??= newBatch());
    if (waitMs === 0) run(batch);
    else batch.timer ??= setTimeout(() => run(batch), waitMs);
    return batch;
  };
  return {
    refused: (environmentId: string) => refused.get(environmentId),
    /** Resolves when nginx serves what is wanted; what needs no reload does not wait. */
    soon: async (): Promise<void> => await ask(needsPass() ? options.gatherMs : 0).done,
    now: async (): Promise<void> => await ask(0).done,
    /** Asks for a pass if something has changed that nobody asked for, and logs its failure. */
    async ifNeeded(): Promise<void> {
      if (isStopped || !needsPass()) return;
      await ask(nginx.isRunning() ? options.gatherMs : 0).done.catch((error: unknown) => {
        if (!isStopped) log.error({ problem: errorText(error) }, 'nginx does not serve what it should');
      });
    },
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(waiting?.timer);
      waiting?.reject(new Error('the edge was stopped'));
      waiting = undefined;
      await turn;
    },
  };
}

function newBatch(): Batch {
  let settle: Pick<Batch, 'resolve' | 'reject'> | undefined;
  const done = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  // Whoever asked waits for it as well.
  done.catch(() => undefined);
  if (settle === undefined) throw new Error('a promise runs its function at once');
  return { done, ...settle };
}
