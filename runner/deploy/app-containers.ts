/**
 * The containers of an app on this machine, and what is done with them. An app has at most three, told apart by name, because labels cannot be changed:
 *
 *   svc-app-<app>        the one that serves
 *   svc-app-<app>.next   is being tried
 *   svc-app-<app>.old    served until a moment ago; goes when `next` has taken its place, comes back when it has not
 *
 * Whatever moment a daemon is killed at, `restoreApps` finds from the names alone what should serve.
 */
import { errorText } from '../platform/errors.ts';
import { failureText, runCommand, type CommandResult } from '../executor/command.ts';
import { engineArgv, type Engine } from '../executor/engine.ts';

const CALL_MS = 30_000;
/** Time from SIGTERM to SIGKILL of an app. */
export const STOP_SECONDS = 10;

export const appLabel = 'svc.app';
export const runnerLabel = 'svc.runner';
/** The environment that an app belongs to. Names are unique on a machine, which may serve several environments and teams. */
export const environmentLabel = 'svc.environment';

export interface AppNames {
  current: string;
  next: string;
  old: string;
}

export function appNames(app: string): AppNames {
  const current = `svc-app-${app}`;
  return { current, next: `${current}.next`, old: `${current}.old` };
}

export async function engineCall(engine: Engine, ...args: string[]): Promise<CommandResult> {
  return await runCommand(engineArgv(engine, ...args), { timeoutMs: CALL_MS + STOP_SECONDS * 1_000 });
}

export async function exists(engine: Engine, name: string): Promise<boolean> {
  const found = await engineCall(engine, 'inspect', '--type=container', '--format={{.Id}}', name);
  return found.code === 0;
}

/** Returns an environment other than this one that has a container of the app. A container without the label is of an earlier version and belongs to nobody. */
export async function otherHolder(
  engine: Engine,
  names: AppNames,
  environment: string,
): Promise<string | undefined> {
  for (const name of [names.current, names.old, names.next]) {
    const format = `--format={{index .Config.Labels "${environmentLabel}"}}`;
    const found = await engineCall(engine, 'inspect', '--type=container', format, name);
    if (found.code !== 0 && !/no such/i.test(found.stderr))
      throw new Error(`${engine.name} cannot say whose ${name} is: ${failureText(found)}`);
    const holder = found.code === 0 ? found.stdout.trim() : '';
    if (holder !== '' && holder !== environment) return holder;
  }
  return undefined;
}

export async function must(engine: Engine, ...args: string[]): Promise<string> {
  const result = await engineCall(engine, ...args);
  if (result.code !== 0) throw new Error(`${engine.name} ${args[0]} failed: ${failureText(result)}`);
  return result.stdout.trim();
}

/** Stops the container first, so that it may end its connections; does nothing when it does not exist. */
export async function removeContainer(engine: Engine, name: string, politely = true): Promise<void> {
  if (!(await exists(engine, name))) return;
  if (politely) await engineCall(engine, 'stop', `--time=${STOP_SECONDS}`, name);
  await must(engine, 'rm', '--force', '--volumes', name);
}

/**
 * `next` takes the place of `current`, which becomes `old` and goes. Each step leaves a state that `restoreApps` understands. Returns why `old` is
 * still there, if it is: `next` serves all the same, and `restore` tries again before the next deploy.
 */
export async function promote(engine: Engine, names: AppNames): Promise<string | undefined> {
  if (await exists(engine, names.current)) await must(engine, 'rename', names.current, names.old);
  await must(engine, 'rename', names.next, names.current);
  return await removeContainer(engine, names.old).then(() => undefined, errorText);
}

/** The new container failed: the one that served before serves again. */
export async function restore(engine: Engine, names: AppNames): Promise<void> {
  await removeContainer(engine, names.next, false);
  if (await exists(engine, names.current)) return await removeContainer(engine, names.old);
  if (!(await exists(engine, names.old))) return;
  await must(engine, 'rename', names.old, names.current);
  await must(engine, 'start', names.current);
}

export interface Restored {
  app: string;
  /** The reason why the app could not be restored. */
  problem?: string;
}

/** Runs after the start of a daemon: ends every change of an app that an earlier process had begun, each one whatever becomes of the others. */
export async function restoreApps(engine: Engine, runnerId: string): Promise<Restored[]> {
  const listed = await must(
    engine,
    'ps',
    '--all',
    `--filter=label=${runnerLabel}=${runnerId}`,
    `--filter=label=${appLabel}`,
    '--format={{.Names}}',
  );
  const begun = new Set(
    listed.split('\n').flatMap((name) => /^svc-app-(.+)\.(?:next|old)$/.exec(name.trim())?.[1] ?? []),
  );
  const restored: Restored[] = [];
  for (const app of begun)
    restored.push(
      await restore(engine, appNames(app)).then(
        () => ({ app }),
        (error: unknown) => ({ app, problem: errorText(error) }),
      ),
    );
  return restored;
}
