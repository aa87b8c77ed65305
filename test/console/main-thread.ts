/** Measures tasks of a page's main thread by the browser's own trace. */
import type { Browser, Page } from 'playwright-core';

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the processor, of which others that run at the same time take nothing. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Milliseconds of the main thread, in all and of the longest task. */
export interface MainThread {
  readonly totalMs: number;
  readonly longestMs: number;
}

/** The trace has each task under a name of its own and of its scheduler. */
const TASK = 'RunTask';

/** The busiest main thread is the one of the page that does something. */
function busiest(events: readonly TraceEvent[]): MainThread {
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain');
  const all = mains.map(({ pid, tid }) => {
    const tasks = events
      .filter((event) => event.pid === pid && event.tid === tid && event.ph === 'X' && event.name === TASK)
      .map(({ tdur = 0 }) => tdur / 1_000);
    return { totalMs: tasks.reduce((sum, ms) => sum + ms, 0), longestMs: Math.max(0, ...tasks) };
  });
  const [most] = all.toSorted((a, b) => b.totalMs - a.totalMs);
  if (most === undefined || most.totalMs === 0) throw new Error('the trace has no task of a page');
  return most;
}

/** Returns what the page's main thread did while that was done. A browser has one trace at a time. */
export async function measured(page: Page, work: () => Promise<void>): Promise<MainThread> {
  const browser = page.context().browser() as Browser;
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  let trace: Buffer;
  try {
    await work();
  } finally {
    trace = await browser.stopTracing();
  }
  return busiest((JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }).traceEvents);
}
