/**
 * `svc-runner database` shows the databases of this machine, opens a shell in one, backs one up and restores
 * one. The engine and the data folder alone are asked, so that it works while the control plane is away.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createBackups, feed, type Backups } from '../database/backups.ts';
import {
  databaseContainers,
  execCall,
  restartDatabase,
  runDatabase,
  untilReady,
  type DatabaseContainer,
} from '../database/containers.ts';
import { KINDS } from '../database/kinds.ts';
import { backupFolder } from '../database/open-databases.ts';
import { openPasswords } from '../database/passwords.ts';
import { removeContainer } from '../deploy/app-containers.ts';
import { dataPaths, defaultDataDir, readConfig } from '../disk/identity.ts';
import { findProgram } from '../executor/command.ts';
import { ENGINE_TIMEOUTS, type Engine } from '../executor/engine.ts';
import type { CommandIo } from './command-io.ts';
import { flagsHelp, readFlags, UsageError, type FlagSpec } from './flags.ts';
import { DATA_DIR_FLAG } from './settings.ts';
import { table } from './table.ts';

const FLAGS: readonly FlagSpec[] = [
  DATA_DIR_FLAG,
  {
    name: 'backup-dir',
    env: 'SVC_RUNNER_BACKUP_DIR',
    help: 'folder of the backups, which the runner has under the same flag',
    value: 'dir',
    fallback: 'backups, in the data folder',
  },
  { name: 'from', help: 'backup to restore', value: 'file', fallback: 'the newest' },
  { name: 'without-backup', help: 'restore although what is there cannot be backed up' },
  { name: 'check', help: 'restore into a database of its own, which goes in the end' },
  { name: 'help', help: 'this text' },
];

const HELP = `Usage: svc-runner database <list|shell|backup|restore> [app] [flags]

list           the databases of this machine, with the age of their newest backup
shell APP      the database's own shell
backup APP     a backup now, beside those of every day; one that is much smaller than those before is kept, too
restore APP    replaces what the database holds by a backup; what it holds now is backed up first, and where that fails nothing is restored

${flagsHelp(FLAGS)}
`;

const READY_MS = 120_000;
const LOOK_MS = 250;
const CHECK_LIMITS = { memoryMb: 1_024, cpus: 1, pids: 512 };

interface Tools {
  readonly io: CommandIo;
  readonly engine: Engine;
  readonly backups: Backups;
  readonly passwordOf: (id: string) => string;
}

/** A database of an app, of a type that this version knows. */
type AppsDatabase = DatabaseContainer & { readonly type: keyof typeof KINDS };

export async function database(io: CommandIo): Promise<number> {
  const [act = 'list', app] = words(io.args);
  const args = io.args.slice(words(io.args).length);
  const flags = readFlags(FLAGS, HELP, { ...io, args });
  if (flags === undefined) return 0;
  const program = findProgram('podman');
  if (program === undefined) throw new Error('podman is not installed here, so no database can be');
  const engine: Engine = { name: 'podman', program, timeouts: ENGINE_TIMEOUTS, processesPerUser: 0 };
  const { dataDir, ...paths } = dataPaths(flags.text('data-dir') ?? defaultDataDir(io.env));
  const configured = readConfig({ dataDir, ...paths })?.['backupDir'];
  const backupDir = flags.text('backup-dir') ?? (typeof configured === 'string' ? configured : undefined);
  const folder = backupFolder({ backupDir }, dataDir);
  const tools: Tools = {
    io,
    engine,
    backups: createBackups({ engine, dataDir, folder }),
    passwordOf: openPasswords(dataDir),
  };
  if (act === 'list') return await list(tools);
  if (act !== 'shell' && act !== 'backup' && act !== 'restore')
    throw new UsageError(`database ${act} is unknown: list, shell, backup or restore`);
  const found = await find(engine, app);
  if (act === 'shell') return await shell(tools, found);
  if (act === 'backup') return (await backUp(tools, found)) ? 0 : 1;
  const from = flags.text('from') ?? tools.backups.files(found.id).at(-1)?.path;
  if (from === undefined || !existsSync(from))
    throw new Error(from === undefined ? `there is no backup of ${found.app}` : `there is no file ${from}`);
  const path = resolve(from);
  if (flags.on('check')) return await check(tools, found, path);
  if (!flags.on('without-backup') && !(await backUp(tools, found))) {
    io.note(
      'svc-runner: nothing was restored; --without-backup restores all the same, and what is there is lost\n',
    );
    return 1;
  }
  return await restore(tools, found, path);
}

/** Returns what stands before the flags: an act and an app. */
function words(args: readonly string[]): readonly string[] {
  const end = args.slice(0, 2).findIndex((word) => word.startsWith('-'));
  return args.slice(0, end === -1 ? 2 : end);
}

async function ofApps(engine: Engine): Promise<AppsDatabase[]> {
  const all = await databaseContainers(engine);
  return all.filter(
    (each): each is AppsDatabase => each.environment !== '' && Object.hasOwn(KINDS, each.type),
  );
}

async function find(engine: Engine, app: string | undefined): Promise<AppsDatabase> {
  const all = await ofApps(engine);
  const found = all.filter((each) => each.app === app || each.id === app);
  if (found.length === 1 && found[0] !== undefined) return found[0];
  const names = all.map((each) => each.app).join(', ') || 'none';
  throw new UsageError(
    app === undefined
      ? `name the app whose database is meant; here are: ${names}`
      : `${found.length} databases here are of the app ${app}; here are: ${names}`,
  );
}

async function list({ io, engine, backups }: Tools): Promise<number> {
  const all = await ofApps(engine);
  if (all.length === 0) io.note('no database is on this machine\n');
  else
    io.print(
      table([
        ['APP', 'TYPE', 'IMAGE', 'STATE', 'GOOD BACKUP', 'ENVIRONMENT', 'DATABASE'],
        ...all.map((each) => [
          each.app,
          each.type,
          each.image.slice(0, 40),
          each.isRunning ? 'running' : 'ended',
          backups.newest(each.id)?.goodAt ?? '-',
          each.environment,
          each.id,
        ]),
      ]),
    );
  return 0;
}

async function shell({ io, engine, passwordOf }: Tools, found: AppsDatabase): Promise<number> {
  const terminal = process.stdin.isTTY === true ? ['--tty'] : [];
  const flags = ['--interactive', ...terminal];
  const argv = KINDS[found.type].shell;
  const call = execCall(engine, found, { argv, password: passwordOf(found.id), flags });
  const [program = '', ...args] = call.argv;
  const child = spawn(program, args, { stdio: 'inherit', env: call.env });
  return await new Promise((done, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code !== 0) io.note(`the shell ended with ${code ?? 'a signal'}\n`);
      done(code ?? 1);
    });
  });
}

async function backUp({ io, backups, passwordOf }: Tools, found: AppsDatabase): Promise<boolean> {
  const made = await backups.make(found, passwordOf(found.id), true);
  const file = backups.files(found.id).at(-1);
  if (made.state === 'good') io.print(`${file?.path}: ${made.bytes} bytes, sha256 ${made.sha256}\n`);
  else io.note(`svc-runner: the backup failed: ${made.problem}\n`);
  return made.state === 'good';
}

async function restore(tools: Tools, found: AppsDatabase, from: string): Promise<number> {
  const { io, engine, passwordOf } = tools;
  await load(tools, { ...found, password: passwordOf(found.id) }, from);
  if (KINDS[found.type].beginsToRestore === true) await restartDatabase(engine, found.name);
  await ready(engine, found, passwordOf(found.id));
  io.print(`${found.app} holds ${from}\n`);
  return 0;
}

/** Touches nothing of what is there: the backup alone is at stake. */
async function check(tools: Tools, found: AppsDatabase, from: string): Promise<number> {
  const { io, engine, passwordOf } = tools;
  const kind = KINDS[found.type];
  const name = `${found.name}-check`;
  const password = passwordOf(`check ${found.id}`);
  await removeContainer(engine, name);
  try {
    await runDatabase(engine, {
      plan: found,
      name,
      runnerId: found.runner,
      app: found.app,
      environment: '',
      imageId: found.imageId,
      limits: CHECK_LIMITS,
      network: ['--network=none'],
      data: [`--tmpfs=${kind.folder}:rw,mode=0755`, '--restart=no'],
      hasUsers: true,
      command: kind.testCommand,
      password,
    });
    await ready(engine, { ...found, name }, password);
    await load(tools, { ...found, name, password }, from);
  } finally {
    await removeContainer(engine, name);
  }
  io.print(`${from} can be restored\n`);
  return 0;
}

async function ready(engine: Engine, found: AppsDatabase, password: string): Promise<void> {
  await untilReady(engine, found, { password, withinMs: READY_MS, everyMs: LOOK_MS });
}

async function load(
  { engine }: Tools,
  { password, ...found }: AppsDatabase & { readonly password: string },
  from: string,
): Promise<void> {
  const flags = ['--interactive'];
  await feed(execCall(engine, found, { argv: KINDS[found.type].restore, password, flags }), from);
}
