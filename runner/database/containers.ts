/**
 * Runs the containers of databases on this machine. Each is named for its database, and has no published
 * port and a place on the network of its app; labels say whose it is, so that the engine alone suffices to
 * find it.
 */
import type { AppLimits } from '../build/deployer.ts';
import type { DatabasePlan } from '../build/database-plan.ts';
import { databaseLabel, engineCall, environmentLabel, removeContainer } from '../deploy/app-containers.ts';
import { isolationArgs, limitArgs, startArgs } from '../deploy/app-args.ts';
import { failureText, runCommand } from '../executor/command.ts';
import { engineArgv, runEngine, type Engine } from '../executor/engine.ts';
import { changeNames } from '../executor/image-names.ts';
import { appLabel, runnerLabel } from '../network/engine-networks.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import { KINDS } from './kinds.ts';

export const typeLabel = 'svc.database-type';
const CALL_MS = 30_000;
/** An image of a few hundred megabytes over a slow line. */
const PULL_MS = 15 * 60_000;
/** A database writes what it has in memory. */
const STOP_SECONDS = 30;
/** The official images begin as root, own their folder and go on as another user. */
const CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];

/** The engine's words of a container in which nothing can be run. */
const ENDED = /container state improper|is not running/;

export interface DatabaseContainer {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly app: string;
  readonly environment: string;
  readonly runner: string;
  /** Image with its tag, and digest of it. */
  readonly image: string;
  readonly imageId: string;
  readonly isRunning: boolean;
  readonly createdAt: string;
}

export const containerName = (id: string): string => `svc-db-${id}`;

type Inspected = [
  name: string,
  running: boolean,
  image: string,
  imageId: string,
  createdAt: string,
  labels: Record<string, string>,
];

const FORMAT = `--format=[${[
  '.Name',
  '.State.Running',
  '.Config.Image',
  '.Image',
  '.Created',
  '.Config.Labels',
]
  .map((field) => `{{json ${field}}}`)
  .join(',')}]`;

/** Finds all of this machine, by whichever runner. */
export async function databaseContainers(engine: Engine): Promise<DatabaseContainer[]> {
  const listed = await runEngine(
    engine,
    CALL_MS,
    'ps',
    '--all',
    '--quiet',
    `--filter=label=${databaseLabel}`,
  );
  if (listed.code !== 0) throw new Error(`${engine.name} cannot list databases: ${failureText(listed)}`);
  const ids = listed.stdout.split('\n').filter((id) => id !== '');
  if (ids.length === 0) return [];
  // One that was removed meanwhile makes the call fail; the others are still printed.
  const inspected = await runEngine(engine, CALL_MS, 'inspect', '--type=container', FORMAT, ...ids);
  return inspected.stdout
    .split('\n')
    .filter((line) => line.startsWith('['))
    .map((line) => {
      const [name, isRunning, image, imageId, createdAt, labels] = JSON.parse(line) as Inspected;
      return {
        id: labels[databaseLabel] ?? '',
        type: labels[typeLabel] ?? '',
        name: name.replace(/^\//, ''),
        app: labels[appLabel] ?? '',
        environment: labels[environmentLabel] ?? '',
        runner: labels[runnerLabel] ?? '',
        image,
        imageId,
        isRunning,
        createdAt,
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export interface FoundImage {
  readonly id: string;
  readonly digest: string;
  /** Containers begin with it. */
  readonly entrypoint: readonly string[];
}

/**
 * Finds the image that a database is made of, and pulls it where it is not there. With a digest it is that
 * very one: a restart, or a tag that was moved, changes no version.
 */
export async function bringDatabaseImage(
  engine: Engine,
  { image, digest }: Pick<DatabasePlan, 'image' | 'digest'>,
): Promise<FoundImage> {
  const byTag = await inspectImage(engine, image);
  if (byTag !== undefined && (digest === undefined || byTag.digest === digest)) return byTag;
  const wanted = digest === undefined ? image : `${image.replace(/:[^:/]*$/, '')}@${digest}`;
  const there = await inspectImage(engine, wanted);
  if (there !== undefined) return there;
  const pulled = await changeNames(engine, PULL_MS, 'pull', '--quiet', wanted);
  const found = pulled.code === 0 ? await inspectImage(engine, wanted) : undefined;
  if (found === undefined) throw new Error(`${wanted} cannot be pulled: ${failureText(pulled)}`);
  return found;
}

async function inspectImage(engine: Engine, image: string): Promise<FoundImage | undefined> {
  // docker has digests of repositories alone, and none of an image that was made here.
  const digestOf = engine.name === 'podman' ? '.Digest' : '.Id';
  const format = `--format={{.Id}} {{${digestOf}}} {{json .Config.Entrypoint}}`;
  const found = await runEngine(engine, CALL_MS, 'image', 'inspect', format, image);
  if (found.code !== 0) return undefined;
  const [, id = '', digest = '', json = ''] = /^(\S+) (\S+) (.+)$/m.exec(found.stdout) ?? [];
  if (id === '') return undefined;
  return { id, digest, entrypoint: (JSON.parse(json) as string[] | null) ?? [] };
}

export interface DatabaseRun {
  readonly plan: Pick<DatabasePlan, 'id' | 'type'>;
  readonly name: string;
  readonly runnerId: string;
  readonly app: string;
  readonly environment: string;
  readonly imageId: string;
  readonly limits: AppLimits;
  /** Arguments that give it a network. */
  readonly network: readonly string[];
  /** Arguments that give it users and its data: see `hasUsers` of isolationArgs. */
  readonly data: readonly string[];
  readonly hasUsers: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  /** Program that begins in place of the image's own one. */
  readonly entrypoint?: string;
  readonly command: readonly string[];
  readonly password: string;
}

export async function runDatabase(engine: Engine, run: DatabaseRun): Promise<void> {
  const { plan, password } = run;
  const env = KINDS[plan.type].env(password);
  const labels = {
    [runnerLabel]: run.runnerId,
    [appLabel]: run.app,
    [environmentLabel]: run.environment,
    [databaseLabel]: plan.id,
    [typeLabel]: plan.type,
    ...run.labels,
  };
  const argv = engineArgv(
    engine,
    'run',
    '--detach',
    `--name=${run.name}`,
    ...Object.entries(labels).map(([label, value]) => `--label=${label}=${value}`),
    '--security-opt=no-new-privileges',
    '--cap-drop=ALL',
    ...CAPABILITIES.map((each) => `--cap-add=${each}`),
    ...(await limitArgs(run.limits)),
    `--stop-timeout=${STOP_SECONDS}`,
    '--pull=never',
    ...isolationArgs(engine, run.network, run.hasUsers),
    ...run.data,
    ...(engine.name === 'podman' ? ['--http-proxy=false', '--cgroups=enabled'] : []),
    // Their values are in the environment of this call alone.
    ...Object.keys(env).map((name) => `--env=${name}`),
    ...(run.entrypoint === undefined ? [] : [`--entrypoint=${run.entrypoint}`]),
    run.imageId,
    ...run.command,
  );
  const started = await runCommand(argv, { timeoutMs: 2 * CALL_MS, env: { ...process.env, ...env } });
  if (started.code === 0) return;
  await removeContainer(engine, run.name).catch(() => undefined);
  throw new Error(`it cannot be started: ${failureText(started)}`);
}

export async function startDatabase(engine: Engine, name: string): Promise<void> {
  const started = await engineCall(engine, ...startArgs(engine, name));
  if (started.code !== 0) throw new Error(`it has ended and cannot be started: ${failureText(started)}`);
}

export const stopDatabase = async (engine: Engine, name: string) =>
  await runEngine(engine, CALL_MS + STOP_SECONDS * 1_000, 'stop', `--time=${STOP_SECONDS}`, name);

/** Ends its container; the data stays. */
export async function retireDatabase(engine: Engine, name: string): Promise<void> {
  await stopDatabase(engine, name);
  await removeContainer(engine, name);
}

export async function restartDatabase(engine: Engine, name: string): Promise<void> {
  await stopDatabase(engine, name);
  await startDatabase(engine, name);
}

type Named = Pick<DatabaseRun, 'name'> & Pick<DatabasePlan, 'type'>;

/** Makes the arguments and the environment of a program of the database, in its container. */
export function execCall(
  engine: Engine,
  { name, type }: Named,
  { argv, password, flags = [] }: { argv: readonly string[]; password: string; flags?: readonly string[] },
): { argv: string[]; env: NodeJS.ProcessEnv } {
  const variable = KINDS[type].passwordVariable;
  return {
    argv: engineArgv(engine, 'exec', ...flags, `--env=${variable}`, name, ...argv),
    env: { ...process.env, [variable]: password },
  };
}

export interface WaitOptions {
  readonly password: string;
  readonly withinMs: number;
  readonly everyMs: number;
}

/** Resolves when it has answered twice in a row, and rejects with the reason when it does not in time. */
export async function untilReady(engine: Engine, database: Named, options: WaitOptions): Promise<void> {
  const call = execCall(engine, database, { argv: KINDS[database.type].ready, ...options });
  await untilDone(engine, database.name, { ...options, call, times: 2 });
}

export interface DoneOptions extends Pick<WaitOptions, 'withinMs' | 'everyMs'> {
  readonly call: ReturnType<typeof execCall>;
  /** It ends with 0 so often in a row. */
  readonly times: number;
}

/** Repeats a call of a program of the database until it succeeds. */
export async function untilDone(
  engine: Engine,
  name: string,
  { call, times, withinMs, everyMs }: DoneOptions,
): Promise<void> {
  const endMs = monotonicMs() + withinMs;
  let answers = 0;
  let last = '';
  while (answers < times) {
    const done = await runCommand(call.argv, { timeoutMs: CALL_MS, env: call.env });
    answers = done.code === 0 ? answers + 1 : 0;
    last = done.code === 0 ? last : failureText(done);
    if (answers === 0 && (monotonicMs() > endMs || ENDED.test(last)))
      throw new Error(`it does not answer (${last})${await lastWords(engine, name)}`);
    if (answers < times) await pause(everyMs);
  }
}

async function lastWords(engine: Engine, name: string): Promise<string> {
  const said = await runEngine(engine, CALL_MS, 'logs', '--tail=3', name);
  const text = `${said.stdout}\n${said.stderr}`.trim().split('\n').slice(-3).join('; ').slice(-300);
  return text === '' ? '' : `: ${text}`;
}
