/** This file has the reasons why a build ends before its end. */
import { pause } from '../platform/clock.ts';
import type { BuildControl } from './control.ts';

/** The build itself failed: its source, its steps or its target. It is reported as the build's own exit. */
export class BuildFailed extends Error {
  override readonly name = 'BuildFailed';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode === 0 ? 1 : exitCode;
  }
}

/** This machine or the network failed, through no fault of the build. */
export class MachineFailed extends Error {
  override readonly name = 'MachineFailed';
}

/** Waits between tries, in milliseconds. */
const WAITS_MS = [1_000, 4_000, 10_000];

/** Repeats while `attempt` throws MachineFailed, at most three times more. */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { writeLine, control }: { writeLine: (line: string) => Promise<void>; control: BuildControl },
): Promise<T> {
  for (const waitMs of WAITS_MS) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof MachineFailed)) throw error;
      await writeLine(`${error.message}; trying again in ${waitMs / 1_000} s`);
      await control.race(pause(waitMs, control.term));
    }
  }
  return await attempt();
}
