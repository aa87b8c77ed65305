/** This file reads what a program has resident in memory, in MiB. */
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Program } from '../e2e/processes.ts';

const EVERY_MS = 20;
const SETTLES_MS = 5_000;

export function resident({ child }: Program): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024;
}

/** Watches what it has now, and at most until `stop`. */
export function watchResident(program: Program) {
  const before = resident(program);
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, resident(program))), EVERY_MS);
  const stop = (): number => {
    clearInterval(timer);
    return Math.max(peak, resident(program));
  };
  return { before, stop };
}

/** Returns the least that it has within some seconds without work: what is garbage has gone by then. */
export async function settled(program: Program): Promise<number> {
  let least = resident(program);
  for (const end = performance.now() + SETTLES_MS; performance.now() < end; await setTimeout(EVERY_MS))
    least = Math.min(least, resident(program));
  return least;
}
