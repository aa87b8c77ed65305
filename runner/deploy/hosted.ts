/**
 * Finds what is deployed on this machine, by whichever runner that was or is enrolled here. The engine alone
 * is asked, so that it is found while the control plane is away and after a runner was revoked.
 */
import { failureText } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { appLabel, runnerLabel } from '../network/engine-networks.ts';
import { appNames, databaseLabel, environmentLabel, hostOf, workLabel } from './app-containers.ts';
import { mountsLabel, volumeLabel } from './mounts.ts';

const CALL_MS = 30_000;

/** `serves`, or is tried before it does, or served until the next one took its place. */
export type AppRole = 'serves' | 'is tried' | 'is replaced';

export interface HostedApp {
  app: string;
  container: string;
  role: AppRole;
  /** State of the container, in the engine's word. */
  state: string;
  /** The machine answers for it there; absent while it does not run. */
  address?: string;
  /** It is absent for one of an earlier version. */
  environment?: string;
  /** Build that deployed it, with its epoch. */
  build?: string;
  runner: string;
  /** Ids of the storage that it has. */
  mounts: readonly string[];
  image: string;
  /** Time at which it was deployed. */
  createdAt: string;
  /** Time since which it runs; absent while it does not. */
  startedAt?: string;
}

type Ports = Record<string, Array<{ HostIp?: string; HostPort?: string }> | null> | null;
type Inspected = [
  name: string,
  state: string,
  image: string,
  createdAt: string,
  startedAt: string,
  labels: Record<string, string>,
  ports: Ports,
];

const FORMAT = `--format=[${[
  '.Name',
  '.State.Status',
  '.Config.Image',
  '.Created',
  '.State.StartedAt',
  '.Config.Labels',
  '.NetworkSettings.Ports',
]
  .map((field) => `{{json ${field}}}`)
  .join(',')}]`;

export async function hostedApps(engine: Engine): Promise<HostedApp[]> {
  const listed = await runEngine(engine, CALL_MS, 'ps', '--all', '--quiet', `--filter=label=${appLabel}`);
  if (listed.code !== 0) throw new Error(`${engine.name} cannot list apps: ${failureText(listed)}`);
  const ids = listed.stdout.split('\n').filter((id) => id !== '');
  if (ids.length === 0) return [];
  // One that was removed meanwhile makes the call fail; the others are still printed.
  const inspected = await runEngine(engine, CALL_MS, 'inspect', '--type=container', FORMAT, ...ids);
  const lines = inspected.stdout.split('\n').filter((line) => line.startsWith('['));
  if (lines.length === 0 && inspected.code !== 0)
    throw new Error(`${engine.name} cannot show apps: ${failureText(inspected)}`);
  return (
    lines
      .map((line) => JSON.parse(line) as Inspected)
      // Its database carries the app's label, too.
      .filter(([, , , , , labels]) => labels[databaseLabel] === undefined)
      .map(hostedApp)
      .sort((a, b) => (a.container < b.container ? -1 : 1))
  );
}

function hostedApp([name, state, image, createdAt, startedAt, labels, ports]: Inspected): HostedApp {
  // docker's names begin with a slash.
  const container = name.replace(/^\//, '');
  const { [appLabel]: app = '', [environmentLabel]: environment, [workLabel]: build } = labels;
  const names = appNames(app);
  const address = addressOf(ports);
  return {
    app,
    container,
    role: container === names.next ? 'is tried' : container === names.old ? 'is replaced' : 'serves',
    state,
    ...(address !== undefined && state === 'running' && { address }),
    ...(environment !== undefined && { environment }),
    ...(build !== undefined && { build }),
    runner: labels[runnerLabel] ?? '',
    mounts: (labels[mountsLabel] ?? '').split(',').filter((id) => id !== ''),
    image,
    createdAt,
    ...(state === 'running' && { startedAt }),
  };
}

function addressOf(ports: Ports): string | undefined {
  const { HostIp: ip = '', HostPort: port } =
    Object.values(ports ?? {}).flatMap((each) => each ?? [])[0] ?? {};
  if (port === undefined) return undefined;
  return `http://${hostOf(ip === '' || ip === '0.0.0.0' ? '127.0.0.1' : ip)}:${port}`;
}

export interface HostedVolume {
  volume: string;
  environment: string;
  /** Name of the data within the environment. */
  data: string;
  runner: string;
  createdAt: string;
}

/** Finds the volumes of environments on this machine. */
export async function hostedVolumes(engine: Engine): Promise<HostedVolume[]> {
  const label = `--filter=label=${volumeLabel}`;
  const listed = await runEngine(engine, CALL_MS, 'volume', 'ls', '--quiet', label);
  if (listed.code !== 0) throw new Error(`${engine.name} cannot list volumes: ${failureText(listed)}`);
  const names = listed.stdout.split('\n').filter((name) => name !== '');
  if (names.length === 0) return [];
  const format = '--format=[{{json .Name}},{{json .CreatedAt}},{{json .Labels}}]';
  const inspected = await runEngine(engine, CALL_MS, 'volume', 'inspect', format, ...names);
  return inspected.stdout
    .split('\n')
    .filter((line) => line.startsWith('['))
    .map((line) => {
      const [volume, createdAt, labels] = JSON.parse(line) as [string, string, Record<string, string>];
      const {
        [environmentLabel]: environment = '',
        [volumeLabel]: data = '',
        [runnerLabel]: runner = '',
      } = labels;
      return { volume, environment, data, runner, createdAt };
    })
    .sort((a, b) => (a.volume < b.volume ? -1 : 1));
}
