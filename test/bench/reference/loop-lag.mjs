/**
 * Preloaded into a process that is measured (`--import`): how late its event loop is, in milliseconds. Each
 * SIGUSR2 prints what was since the one before.
 */
import { isMainThread } from 'node:worker_threads';

const EVERY_MS = 2;

if (isMainThread) {
  let round = 0;
  let lates = [];
  let dueAt = performance.now() + EVERY_MS;
  setInterval(() => {
    lates.push(Math.max(0, performance.now() - dueAt));
    dueAt = performance.now() + EVERY_MS;
  }, EVERY_MS).unref();
  process.on('SIGUSR2', () => {
    const sorted = lates.toSorted((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    round += 1;
    lates = [];
    console.log(`loop lag ${round}: p99 ${p99.toFixed(1)} ms, max ${(sorted.at(-1) ?? 0).toFixed(1)} ms`);
  });
}
