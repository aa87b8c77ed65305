/**
 * The containers of an app on this machine, and what is done with them. An app has at most three, told apart
 * by name, because labels cannot be changed:
 *
 *   svc-app-<app>        the one that serves
 *   svc-app-<app>.next   is being tried
 *   svc-app-<app>.old    served until a moment ago; goes when `next` has taken its place, comes back when it
 *                        has not
 *
 * Whatever moment a daemon is killed at, `restoreApps` finds from the names alone what should serve.
 */
import { pause } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import { failureText, type CommandResult } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { startArgs } from './app-args.ts';
import { appLabel, runnerLabel } from '../network/engine-networks.ts';

const CALL_MS = 30_000;
const REMOVALS_MAX = 10;
const REMOVE_AGAIN_MS = 500;
const IN_CLEANUP = /device or resource busy/i;
/** Time from SIGTERM to SIGKILL of an app. */
export const STOP_SECONDS = 10;

/**
 * The environment that an app belongs to. Names are unique on a machine, which may serve several environments
 * and teams.
 */
export const environmentLabel = 'svc.environment';

/** Database that the container is; those of apps do not have it. */
export const databaseLabel = 'svc.database';

/** Build that made the container, with its epoch. */
export const workLabel = 'svc.work';

/** Writes an address as the host of a URL. */
export const hostOf = (address: string): string => (address.includes(':') ? `[${address}]` : address);

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
  return await runEngine(engine, CALL_MS + STOP_SECONDS * 1_000, ...args);
}

/**
 * Returns the containers that the app has, with the environment of each; empty for one without the label,
 * which is of an earlier version and belongs to nobody.
 */
export async function containersOf(engine: Engine, names: AppNames): Promise<Map<string, string>> {
  const format = `--format={{.Name}} {{index .Config.Labels "${environmentLabel}"}}`;
  const found = await engineCall(engine, 'inspect', '--type=container', format, ...Object.values(names));
  // A name that does not exist makes the call fail; the containers of the others are still printed.
  const absent = found.stderr
    .trim()
    .split('\n')
    .every((line) => /no such/i.test(line));
  if (found.code !== 0 && !absent)
    throw new Error(`${engine.name} cannot say whose ${names.current} is: ${failureText(found)}`);
  // docker's names begin with a slash.
  const lines = found.stdout.matchAll(/^\/?(\S+) (\S*)$/gm);
  return new Map([...lines].map(([, name = '', environment = '']) => [name, environment]));
}

/**
 * Returns an environment other than this one that has a container of the app. Names are unique on a machine,
 * which may serve several environments and teams.
 */
export function otherHolder(
  containers: ReadonlyMap<string, string>,
  environment: string,
): string | undefined {
  return [...containers.values()].find((holder) => holder !== '' && holder !== environment);
}

export async function must(engine: Engine, ...args: string[]): Promise<string> {
  const result = await engineCall(engine, ...args);
  if (result.code !== 0) throw new Error(`${engine.name} ${args[0]} failed: ${failureText(result)}`);
  return result.stdout.trim();
}

/** Stops a container before it removes it, so that it may end its connections. */
export async function retire(engine: Engine, name: string): Promise<void> {
  await engineCall(engine, 'stop', `--time=${STOP_SECONDS}`, name);
  await removeContainer(engine, name);
}

/**
 * The engine cleans up after a container that has just ended by itself, and fails a removal that comes
 * meanwhile.
 */
export async function removeContainer(engine: Engine, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const removed = await engineCall(engine, 'rm', '--force', '--volumes', name);
    if (removed.code === 0) return;
    if (attempt === REMOVALS_MAX || !IN_CLEANUP.test(removed.stderr))
      throw new Error(`${engine.name} rm failed: ${failureText(removed)}`);
    await pause(REMOVE_AGAIN_MS);
  }
}

/**
 * `next` takes the place of `current`, which becomes `old` and goes once nobody is led there (`switched`).
 * Each step leaves a state that `restoreApps` understands. Returns why `old` is still there, if it is: `next`
 * serves all the same, and `restore` tries again before the next deploy. Where `switched` fails, each has its
 * name of before.
 */
export async function promote(
  engine: Engine,
  names: AppNames,
  switched: () => Promise<void> = async () => await Promise.resolve(),
): Promise<string | undefined> {
  const there = await containersOf(engine, names);
  if (there.has(names.current)) await must(engine, 'rename', names.current, names.old);
  await must(engine, 'rename', names.next, names.current);
  try {
    await switched();
  } catch (error) {
    await must(engine, 'rename', names.current, names.next);
    if (there.has(names.current)) await must(engine, 'rename', names.old, names.current);
    throw error;
  }
  if (!there.has(names.current) && !there.has(names.old)) return undefined;
  return await retire(engine, names.old).then(() => undefined, errorText);
}

/**
 * The new container failed: the one that served before serves again. `there` is what containersOf found;
 * returns whether the app serves.
 */
export async function restore(
  engine: Engine,
  names: AppNames,
  there: ReadonlyMap<string, string>,
): Promise<boolean> {
  if (there.has(names.next)) await removeContainer(engine, names.next);
  if (there.has(names.current)) {
    if (there.has(names.old)) await retire(engine, names.old);
    return true;
  }
  if (!there.has(names.old)) return false;
  await must(engine, 'rename', names.old, names.current);
  await must(engine, ...startArgs(engine, names.current));
  return true;
}

export interface Restored {
  app: string;
  /** The reason why the app could not be restored. */
  problem?: string;
}

/**
 * This runs after the start of a daemon, and ends every change of an app that an earlier process had begun,
 * each one whatever becomes of the others.
 */
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
  for (const app of begun) {
    const names = appNames(app);
    restored.push(
      await containersOf(engine, names)
        .then(async (there) => await restore(engine, names, there))
        .then(
          () => ({ app }),
          (error: unknown) => ({ app, problem: errorText(error) }),
        ),
    );
  }
  return restored;
}
