/**
 * Time that one thread of this process had a processor. What passes on a clock meanwhile is as long as others
 * keep the machine busy.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** The number by which the system knows the thread that asks. Undefined where the system does not say. */
export function ownThread(): number | undefined {
  try {
    return Number(basename(readlinkSync('/proc/thread-self')));
  } catch {
    return undefined; // no Linux
  }
}

/**
 * The time is in milliseconds. It is undefined where the system does not say, and for a thread that has
 * ended.
 */
export function processorMs(thread: number | undefined): number | undefined {
  if (thread === undefined) return undefined;
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    return undefined;
  }
}
