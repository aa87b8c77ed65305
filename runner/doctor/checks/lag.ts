/**
 * This file measures the event loop's lag: a machine so busy that this process hardly runs would lose leases.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pause } from '../../platform/clock.ts';
import { type CheckGroup, type Finding, ok, warn } from '../check.ts';

const LAG_MS_MAX = 200;
const LAG_LOOK_MS = 500;

export const lag: CheckGroup = async (_context, check) => await check('responsive', look);

async function look(): Promise<Finding> {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  await pause(LAG_LOOK_MS);
  delay.disable();
  const lagMs = Math.max(0, Math.round(delay.max / 1e6) - 10);
  if (lagMs <= LAG_MS_MAX) return ok(`this process was delayed by at most ${lagMs} ms`);
  return warn(
    `this process was delayed by ${lagMs} ms`,
    'the machine is overloaded: give tasks smaller --cpus or use fewer slots',
  );
}
