/**
 * `svc-runner hosting` lists what is deployed on this machine, and data that lies here; it calls nobody over
 * the network.
 */
import { databaseContainers, type DatabaseContainer } from '../database/containers.ts';
import { hostedApps, hostedVolumes, type HostedApp, type HostedVolume } from '../deploy/hosted.ts';
import { dataPaths, defaultDataDir, readConfig } from '../disk/identity.ts';
import { ENGINE_TIMEOUTS, type Engine, type EngineName } from '../executor/engine.ts';
import { findProgram } from '../executor/command.ts';
import { errorText } from '../platform/errors.ts';
import type { CommandIo } from './command-io.ts';
import { flagsHelp, readFlags, type FlagSpec } from './flags.ts';
import { DATA_DIR_FLAG } from './settings.ts';
import { readDocuments } from '../host/documents.ts';
import { table } from './table.ts';

const FLAGS: readonly FlagSpec[] = [
  DATA_DIR_FLAG,
  { name: 'json', help: 'as JSON' },
  { name: 'help', help: 'this text' },
];

const HELP = `Usage: svc-runner hosting [flags]

Lists the apps that were deployed on this machine, with the names under which its runner serves them, their databases and the volumes of their storage, by its runner and by those that were enrolled here before:
revoking a runner, or enrolling anew, leaves apps and data as they are. Only the container engines are asked, and exit code 1 says that none of them answered.
\`<engine> rm --force <container>\` ends an app for good, and \`<engine> volume rm <volume>\` removes data.

${flagsHelp(FLAGS)}
`;

type App = HostedApp & { engine: EngineName };
type Volume = HostedVolume & { engine: EngineName };
type Database = DatabaseContainer & { engine: EngineName };

interface Hosted {
  readonly apps: readonly App[];
  readonly volumes: readonly Volume[];
  readonly databases: readonly Database[];
  readonly problems: readonly string[];
}

const ENGINES: readonly EngineName[] = ['podman', 'docker'];

export async function hosting(io: CommandIo): Promise<number> {
  const flags = readFlags(FLAGS, HELP, io);
  if (flags === undefined) return 0;
  const engines = ENGINES.flatMap((name) => engineHere(name) ?? []);
  if (engines.length === 0) throw new Error('neither podman nor docker is installed here, so no app can be');
  const paths = dataPaths(flags.text('data-dir') ?? defaultDataDir(io.env));
  const own = readConfig(paths)?.runnerId;
  const { apps: found, volumes, databases, problems } = await hostedBy(engines);
  const names = namesOf(paths.dataDir);
  const apps = found.map((app) => ({ ...app, names: names.get(app.environment ?? '') ?? [] }));
  if (flags.on('json'))
    io.print(`${JSON.stringify({ runnerId: own ?? null, apps, databases, volumes, problems })}\n`);
  else {
    for (const problem of problems) io.note(`svc-runner: ${problem}\n`);
    if (apps.length > 0) io.print(table(appRows(apps, own)));
    else io.note('no app is deployed on this machine\n');
    if (databases.length > 0) io.print(`\n${table(databaseRows(databases, own))}`);
    if (volumes.length > 0) io.print(`\n${table(volumeRows(volumes, own))}`);
  }
  return problems.length < engines.length ? 0 : 1;
}

/** An engine that does not answer hides nothing of another one. */
async function hostedBy(engines: readonly Engine[]): Promise<Hosted> {
  const apps = new Map<string, App>();
  const volumes = new Map<string, Volume>();
  const databases = new Map<string, Database>();
  const problems: string[] = [];
  for (const engine of engines) {
    try {
      // docker may be another name for podman.
      for (const app of await hostedApps(engine))
        keepFirst(apps, `${app.container} ${app.createdAt}`, { engine: engine.name, ...app });
      for (const volume of await hostedVolumes(engine))
        keepFirst(volumes, `${volume.volume} ${volume.createdAt}`, { engine: engine.name, ...volume });
      for (const database of await databaseContainers(engine))
        keepFirst(databases, `${database.name} ${database.createdAt}`, { engine: engine.name, ...database });
    } catch (error) {
      problems.push(errorText(error));
    }
  }
  return {
    apps: [...apps.values()],
    volumes: [...volumes.values()],
    databases: [...databases.values()],
    problems,
  };
}

function keepFirst<T>(found: Map<string, T>, key: string, value: T): void {
  if (!found.has(key)) found.set(key, value);
}

function engineHere(name: EngineName): Engine | undefined {
  const program = findProgram(name);
  return program === undefined
    ? undefined
    : { name, program, timeouts: ENGINE_TIMEOUTS, processesPerUser: 0 };
}

const runnerOf = (runner: string, own: string | undefined): string =>
  runner === own ? 'this one' : `${runner}, not the one of this machine now`;

/** The runner of the data folder serves environments under these names. */
function namesOf(dataDir: string): ReadonlyMap<string, readonly string[]> {
  const documents = readDocuments(dataDir);
  return new Map(
    documents.map(({ environmentId, domains = [] }) => [
      environmentId,
      domains.flatMap(({ name }) => name ?? []),
    ]),
  );
}

function appRows(
  apps: ReadonlyArray<App & { readonly names: readonly string[] }>,
  own: string | undefined,
): string[][] {
  return [
    ['APP', 'STATE', 'NAMES', 'ADDRESS', 'DEPLOYED', 'ENVIRONMENT', 'BUILD', 'CONTAINER', 'RUNNER'],
    ...apps.map((each) => [
      each.app,
      each.role === 'serves' ? each.state : `${each.state}, ${each.role}`,
      each.names.join(', ') || '-',
      each.address ?? '-',
      each.createdAt.slice(0, 19),
      each.environment ?? '-',
      each.build ?? '-',
      `${each.engine} ${each.container}`,
      runnerOf(each.runner, own),
    ]),
  ];
}

function databaseRows(databases: readonly Database[], own: string | undefined): string[][] {
  return [
    ['DATABASE', 'TYPE', 'STATE', 'APP', 'ENVIRONMENT', 'CONTAINER', 'RUNNER'],
    ...databases.map((each) => [
      each.id,
      each.type,
      each.isRunning ? 'running' : 'ended',
      each.app,
      each.environment,
      `${each.engine} ${each.name}`,
      runnerOf(each.runner, own),
    ]),
  ];
}

function volumeRows(volumes: readonly Volume[], own: string | undefined): string[][] {
  return [
    ['DATA', 'ENVIRONMENT', 'MADE', 'VOLUME', 'RUNNER'],
    ...volumes.map((each) => [
      each.data,
      each.environment,
      each.createdAt.slice(0, 19),
      `${each.engine} ${each.volume}`,
      runnerOf(each.runner, own),
    ]),
  ];
}
