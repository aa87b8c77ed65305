/**
 * Makes backups of databases in a folder of this machine. One counts once its program has ended well, it is
 * on the disk, it was read back whole, and it is not much smaller than those before it: until then, and when
 * it fails, nothing that was there is touched.
 */
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream, mkdirSync, readdirSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { DatabasePlan } from '../build/database-plan.ts';
import type { WireObservedDatabase } from '../control-plane/wire.ts';
import { readIfThere, removeDurably, syncFolder, writeDurably } from '../disk/durable-file.ts';
import type { Engine } from '../executor/engine.ts';
import { wallMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import { execCall } from './containers.ts';
import { KINDS } from './kinds.ts';

export type Backup = NonNullable<WireObservedDatabase['backup']>;

const CALL_MS = 60 * 60_000;
const DAYS = 7;
const WEEKS = 4;
const DAY_MS = 86_400_000;
/** The median of so many is what a backup is measured by. */
const COMPARED = 7;
const SHARE_MIN = 0.5;
const TAIL = 1_000;
const NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)Z\.dump$/;

export interface Dumped {
  /** Container that it is of. */
  readonly name: string;
  readonly id: string;
  readonly type: DatabasePlan['type'];
}

export interface BackupFile {
  readonly path: string;
  readonly atMs: number;
  readonly bytes: number;
}

export interface BackupsOptions {
  readonly engine: Engine;
  readonly dataDir: string;
  /** Each database has a folder of its own there. */
  readonly folder: string;
}

export function createBackups(options: BackupsOptions) {
  const { folder, dataDir } = options;
  const recordPath = join(dataDir, 'host', 'backups.json');
  const recorded = (): Record<string, Backup> =>
    JSON.parse(readIfThere(recordPath) ?? '{}') as Record<string, Backup>;
  const record = async (id: string, backup: Backup | undefined): Promise<void> => {
    const { [id]: _before, ...rest } = recorded();
    mkdirSync(join(dataDir, 'host'), { recursive: true, mode: 0o700 });
    await writeDurably(recordPath, JSON.stringify(backup === undefined ? rest : { ...rest, [id]: backup }));
  };
  return {
    /** Returns the newest attempt; undefined before the first one. */
    newest: (id: string): Backup | undefined => recorded()[id],
    files: (id: string): BackupFile[] => filesIn(join(folder, id)),
    /**
     * Makes one, and removes those that are too many. Never rejects: it may have failed.
     *
     * @param byHand A person asks for it: it may be much smaller than those before it, and none is removed.
     */
    async make(database: Dumped, password: string, byHand = false): Promise<Backup> {
      const before = recorded()[database.id];
      const at = new Date(Math.floor(wallMs() / 1_000) * 1_000);
      const said = { at: at.toISOString(), bytes: before?.bytes ?? 0, sha256: before?.sha256 ?? '' };
      let backup: Backup;
      try {
        const made = await dump(options, { database, password, at, byHand });
        backup = { ...said, ...made, state: 'good', goodAt: said.at };
        if (!byHand) await prune(join(folder, database.id), at.getTime());
      } catch (error) {
        const problem = errorText(error).slice(-400);
        const goodAt = before?.goodAt;
        backup = { ...said, state: 'failed', problem, ...(goodAt !== undefined && { goodAt }) };
      }
      await record(database.id, backup).catch(() => undefined);
      return backup;
    },
    /** Removes all of a database's. */
    async remove(id: string): Promise<void> {
      await rm(join(folder, id), { recursive: true, force: true });
      if (recorded()[id] !== undefined) await record(id, undefined);
    },
  };
}

export type Backups = ReturnType<typeof createBackups>;

interface Dump {
  readonly database: Dumped;
  readonly password: string;
  readonly at: Date;
  readonly byHand: boolean;
}

async function dump(
  { engine, folder }: BackupsOptions,
  { database, password, at, byHand }: Dump,
): Promise<{ bytes: number; sha256: string }> {
  const own = join(folder, database.id);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const path = join(own, nameOf(at));
  const part = `${path}.part`;
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    const counting = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        bytes += chunk.length;
        hash.update(chunk);
        done(null, chunk);
      },
    });
    const kind = KINDS[database.type];
    await run(execCall(engine, database, { argv: kind.dump, password }), async ({ stdout }) => {
      await pipeline(stdout, counting, createWriteStream(part, { mode: 0o600 }));
    });
    await sync(part);
    if (bytes === 0) throw new Error('the dump is empty');
    await readBack(engine, database, { password, path: part });
    if (!byHand) refuseSmall(bytes, filesIn(own));
    await rename(part, path);
    await syncFolder(own);
    return { bytes, sha256: hash.digest('hex') };
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Rejects when the database's own program cannot read the file to its end. */
async function readBack(
  engine: Engine,
  database: Dumped,
  { password, path }: { readonly password: string; readonly path: string },
): Promise<void> {
  const flags = ['--interactive'];
  const call = execCall(engine, database, { argv: KINDS[database.type].readBack, password, flags });
  await feed(call, path).catch((error: unknown) => {
    throw new Error(`the dump cannot be read back: ${errorText(error)}`, { cause: error });
  });
}

/** Runs a program with the file for its input; what it prints is nobody's. */
export async function feed(call: ReturnType<typeof execCall>, path: string): Promise<void> {
  await run(call, async ({ stdin, stdout }) => {
    stdout.resume();
    // A program may end before it has read all of it: its exit code says whether that was right.
    await pipeline(createReadStream(path), stdin).catch(() => undefined);
  });
}

function refuseSmall(bytes: number, before: readonly BackupFile[]): void {
  const sizes = before.slice(-COMPARED).map((each) => each.bytes);
  if (sizes.length === 0) return;
  const median = sizes.sort((a, b) => a - b)[Math.floor(sizes.length / 2)] ?? 0;
  if (bytes >= median * SHARE_MIN) return;
  throw new Error(
    `it has ${bytes} bytes, and those before it ${median}: if that is right, run svc-runner database backup`,
  );
}

interface Pipes {
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
}

/** Resolves when the program has ended with 0 and `use` has; rejects with the reason. */
async function run(
  { argv, env }: ReturnType<typeof execCall>,
  use: (pipes: Pipes) => Promise<void>,
): Promise<void> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'], timeout: CALL_MS });
  let tail = '';
  child.stderr.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString()).slice(-TAIL)));
  child.stdin.on('error', () => undefined);
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) return resolve();
      const last = tail.trim().split('\n').slice(-3).join('; ');
      reject(new Error(last === '' ? `it ended with ${code ?? signal ?? 'nothing'}` : last));
    });
  });
  const used = use(child).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  const [end, use_] = await Promise.allSettled([ended, used]);
  // The program sees a closed pipe alone when the disk is full.
  if (use_.status === 'rejected') throw use_.reason as Error;
  if (end.status === 'rejected') throw end.reason as Error;
}

const nameOf = (at: Date): string =>
  `${at
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')}.dump`;

/** By age, the oldest first. */
function filesIn(folder: string): BackupFile[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .flatMap((name) => {
      const [, hour, minute, second] = NAME.exec(name) ?? [];
      if (hour === undefined) return [];
      const path = join(folder, name);
      return [{ path, atMs: Date.parse(`${hour}:${minute}:${second}Z`), bytes: statSync(path).size }];
    })
    .sort((a, b) => a.atMs - b.atMs);
}

async function prune(folder: string, nowMs: number): Promise<void> {
  for (const { path } of tooMany(filesIn(folder), nowMs)) await removeDurably(path);
}

/**
 * Keeps all of the last 24 hours, the newest of each of the last 7 days and of each of the last 4 weeks that
 * have one, and the newest of all in any case. Days are those of UTC.
 */
export function tooMany(files: readonly BackupFile[], nowMs: number): BackupFile[] {
  const newestOf = (lengthMs: number, count: number): readonly BackupFile[] => {
    const byPeriod = new Map(files.map((file) => [Math.floor(file.atMs / lengthMs), file]));
    return [...byPeriod.values()].slice(-count);
  };
  const kept = new Set([
    ...files.filter(({ atMs }) => nowMs - atMs < DAY_MS),
    ...newestOf(DAY_MS, DAYS),
    ...newestOf(7 * DAY_MS, WEEKS),
    ...files.slice(-1),
  ]);
  return files.filter((file) => !kept.has(file));
}
