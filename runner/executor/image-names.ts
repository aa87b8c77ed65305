/**
 * Calls that change the names of images in the machine's engine come one after the other: podman reads the
 * names of an image, adds one and writes them all, so that of two calls at once for the same image (two teams
 * deploy it) the later one takes away the name that the earlier one gave.
 */
import { type CommandResult } from './command.ts';
import { runEngine, type Engine } from './engine.ts';

let last: Promise<unknown> = Promise.resolve();

/** Calls `tag`, `load` or `rmi`; the time limit begins with the call's turn. */
export async function changeNames(
  engine: Engine,
  timeoutMs: number,
  ...args: string[]
): Promise<CommandResult> {
  const done = last.then(async () => await runEngine(engine, timeoutMs, ...args));
  last = done;
  return await done;
}
