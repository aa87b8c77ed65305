/**
 * Keeps the files that the first start of a database makes, once an image: a test database that begins with a
 * copy of them is there in a fraction of the time. They lie in a folder that nobody but root enters, and what
 * they hold is an empty database under a password of their own.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabasePlan } from '../build/database-plan.ts';
import { removeContainer } from '../deploy/app-containers.ts';
import { failureText, runCommand } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import {
  execCall,
  runDatabase,
  stopDatabase,
  untilDone,
  untilReady,
  type DatabaseRun,
  type FoundImage,
  type WaitOptions,
} from './containers.ts';
import { KINDS, NEW_PASSWORD } from './kinds.ts';
import type { Passwords } from './passwords.ts';

const CALL_MS = 60_000;
/** Folders of the images that were used last. */
const KEPT_MAX = 4;
const MOUNTED = '/svc-prepared';

export interface PreparedOptions {
  readonly engine: Engine;
  readonly dir: string;
  readonly passwords: Passwords;
  readonly log: Log;
}

type Start = Omit<DatabaseRun, 'name' | 'command' | 'password' | 'network' | 'data'>;

export interface Prepared {
  /** Arguments that show the files to a container. */
  readonly data: readonly string[];
  /** The container begins with these. */
  readonly begin: Pick<DatabaseRun, 'entrypoint' | 'command'>;
  /** Resolves when the database answers to its own password alone. */
  takeOver(database: Pick<DatabaseRun, 'name'>, options: WaitOptions): Promise<void>;
}

export type PreparedFiles = ReturnType<typeof createPreparedFiles>;

export function createPreparedFiles(options: PreparedOptions) {
  const { engine, dir, passwords, log } = options;
  const making = new Map<string, Promise<string | undefined>>();
  const secretOf = (image: FoundImage): string => passwords(`prepared ${image.id}`);
  const folderOf = async (start: Start, image: FoundImage): Promise<string | undefined> => {
    const folder = join(dir, image.id);
    if (existsSync(folder)) return folder;
    const made = making.get(image.id) ?? make(options, { start, folder, password: secretOf(image) });
    making.set(image.id, made);
    const found = await made.catch((error: unknown) => {
      log.warn(
        { problem: errorText(error) },
        'files of test databases cannot be prepared: each makes its own',
      );
      return undefined;
    });
    // A second try would fail again, and cost each build the time of a start.
    if (found !== undefined) making.delete(image.id);
    return found;
  };
  return {
    /** Returns undefined where a database makes its files by itself as fast. */
    async of(start: Start, image: FoundImage): Promise<Prepared | undefined> {
      const { type } = start.plan;
      const kind = KINDS[type];
      const argv = kind.takeOver;
      if (argv === undefined) return undefined;
      const folder = await folderOf(start, image);
      if (folder === undefined) return undefined;
      await utimes(folder, new Date(), new Date());
      await keepNewest(dir);
      // The image's own beginning gives the files to its own user.
      const script = `cp -r ${MOUNTED}/. ${kind.folder} && exec "$@"`;
      return {
        data: [`--volume=${folder}:${MOUNTED}:ro`],
        begin: { entrypoint: 'sh', command: ['-c', script, 'sh', ...image.entrypoint, ...kind.testCommand] },
        takeOver: async ({ name }, { password, ...wait }) => {
          const flags = [`--env=${NEW_PASSWORD}`];
          const call = execCall(engine, { name, type }, { argv, password: secretOf(image), flags });
          const env = { ...call.env, [NEW_PASSWORD]: password };
          await untilDone(engine, name, { ...wait, call: { ...call, env }, times: 1 });
        },
      };
    },
  };
}

interface Making {
  readonly start: Start;
  readonly folder: string;
  readonly password: string;
}

/** Starts the database once, without a network, and takes its files when it has ended. */
async function make({ engine }: PreparedOptions, { start, folder, password }: Making): Promise<string> {
  const { type }: Pick<DatabasePlan, 'type'> = start.plan;
  const kind = KINDS[type];
  const name = `svc-db-prepared-${start.imageId.slice(0, 12)}`;
  const part = `${folder}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true, mode: 0o700 });
  try {
    await removeContainer(engine, name).catch(() => undefined);
    await runDatabase(engine, {
      ...start,
      name,
      network: ['--network=none'],
      data: [],
      command: kind.command,
      password,
    });
    await untilReady(engine, { name, type }, { password, withinMs: 2 * CALL_MS, everyMs: 100 });
    await stopDatabase(engine, name);
    const copied = await runEngine(engine, CALL_MS, 'cp', `${name}:${kind.folder}/.`, part);
    if (copied.code !== 0) throw new Error(`its files cannot be copied: ${failureText(copied)}`);
    // Each container has users of its own, who copy them as others.
    const opened = await runCommand(['chmod', '-R', 'a+rX', part], { timeoutMs: CALL_MS });
    if (opened.code !== 0) throw new Error(failureText(opened));
    await rename(part, folder);
    return folder;
  } finally {
    await rm(part, { recursive: true, force: true });
    await removeContainer(engine, name).catch(() => undefined);
  }
}

/** Another build may do the same at this moment. */
async function keepNewest(dir: string): Promise<void> {
  const names = await readdir(dir);
  const used = await Promise.all(
    names.map(async (name) => ({
      name,
      atMs: (await stat(join(dir, name)).catch(() => undefined))?.mtimeMs ?? 0,
    })),
  );
  for (const { name } of used.toSorted((a, b) => b.atMs - a.atMs).slice(KEPT_MAX))
    await rm(join(dir, name), { recursive: true, force: true });
}
