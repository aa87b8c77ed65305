/**
 * Calls that change the names of images in the machine's engine come one after the other: podman reads the
 * names of an image, adds one and writes them all, so that of two calls at once for the same image (two teams
 * deploy it) the later one takes away the name that the earlier one gave.
 */
import { runCommand, type CommandResult } from './command.ts';
import { engineArgv, type Engine } from './engine.ts';

let last: Promise<unknown> = Promise.resolve();

/** Calls `tag`, `load` or `rmi`; the time limit begins with the call's turn. */
export async function changeNames(
  engine: Engine,
  timeoutMs: number,
  ...args: string[]
): Promise<CommandResult> {
  const done = last.then(async () => await runCommand(engineArgv(engine, ...args), { timeoutMs }));
  last = done;
  return await done;
}
