/**
 * Keeps `DATA_DIR/audit-checkpoints.jsonl`: one checkpoint a line, only ever appended to, on the disk before
 * anybody relies on it. When it has grown too long it becomes `audit-checkpoints.1.jsonl` and the new one
 * begins with the last checkpoint of every chain, so that the file alone still covers every entry that was
 * ever signed; what is lost with the one before is only how finely the place of a rewrite can be named.
 * Several worker processes may share the folder: lines are appended whole, and a rotation that finds the file
 * short already was another one's.
 */
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, stat, truncate, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import type { Checkpoint } from './checkpoint.ts';

export interface CheckpointFile {
  readonly path: string;
  /** Resolves when they are on the disk. */
  append(checkpoints: readonly Checkpoint[]): Promise<void>;
  /** Every line, oldest first; `only`: those that hold this text, which spares the rest from being parsed. */
  read(only?: string): AsyncGenerator<ReadCheckpoint>;
}

/**
 * A line that is no checkpoint still tells that somebody wrote into the file; `chain` as far as it can be
 * made out.
 */
export interface ReadCheckpoint {
  readonly chain: string | undefined;
  readonly checkpoint: Checkpoint | undefined;
}

const NAME = 'audit-checkpoints';
const BYTES_MAX = 16 * 1024 * 1024;
const MODE = 0o600;

export function createCheckpointFile(
  dataDir: string,
  { bytesMax = BYTES_MAX }: { readonly bytesMax?: number } = {},
): CheckpointFile {
  const path = join(dataDir, `${NAME}.jsonl`);
  const before = join(dataDir, `${NAME}.1.jsonl`);
  let folderThere = false;
  let tailChecked = false;
  // With very many chains a fresh file is long already: rotating at each append would throw the older one
  // away at once.
  let limit = bytesMax;

  async function* read(only?: string): AsyncGenerator<ReadCheckpoint> {
    for (const each of [before, path]) yield* readLines(each, only);
  }

  const rotate = async (): Promise<void> => {
    const last = new Map<string, Checkpoint>();
    for await (const { checkpoint } of readLines(path))
      if (checkpoint !== undefined) last.set(checkpoint.chain, checkpoint);
    const fresh = join(dataDir, `${NAME}.${process.pid}.new`);
    const bytes = await write(fresh, 'w', [...last.values()]);
    if ((await sizeOf(path)) < limit) return await unlink(fresh); // another process was faster
    await rename(path, before);
    await rename(fresh, path);
    await syncFolder(dataDir);
    limit = Math.max(bytesMax, bytes * 4);
  };

  return {
    path,
    read,
    append: async (checkpoints) => {
      if (checkpoints.length === 0) return;
      if (!folderThere) await mkdir(dataDir, { recursive: true, mode: 0o711 });
      if (!tailChecked) await dropTornTail(path);
      tailChecked = true;
      await write(path, 'a', checkpoints);
      if (!folderThere) await syncFolder(dataDir);
      folderThere = true;
      if ((await sizeOf(path)) >= limit) await rotate();
    },
  };
}

async function write(path: string, flags: 'a' | 'w', checkpoints: readonly Checkpoint[]): Promise<number> {
  const text = Buffer.from(checkpoints.map((each) => `${JSON.stringify(each)}\n`).join(''));
  const file = await open(path, flags, MODE);
  try {
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
  return text.length;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** A new name is on the disk only when its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Several lines: each has some 350 bytes. */
const TAIL_BYTES = 4096;
/** A write takes less. */
const TORN_FOR_MS = 250;

/**
 * Cuts off what a crash in the middle of a write has left: a line without a newline at its end. Nobody was
 * told that it is there. When another process is writing at this very moment it looks the same, for a moment.
 */
async function dropTornTail(path: string): Promise<void> {
  const seen = await lastLineEnd(path);
  if (seen.end === seen.size) return;
  await setTimeout(TORN_FOR_MS);
  const { end, size } = await lastLineEnd(path);
  if (end < size && size === seen.size) await truncate(path, end);
}

async function* readLines(path: string, only = ''): AsyncGenerator<ReadCheckpoint> {
  // This reads to the last newline that is there now: what stands behind it is being written at this moment,
  // or was cut off by a crash.
  const { end } = await lastLineEnd(path);
  if (end === 0) return;
  const stream = createReadStream(path, { end: end - 1 });
  try {
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
      if (line !== '' && line.includes(only)) yield parseLine(line);
    }
  } finally {
    stream.destroy();
  }
}

/** `size` is that of the file, and `end` the place behind its last newline. */
async function lastLineEnd(path: string): Promise<{ readonly end: number; readonly size: number }> {
  const size = await sizeOf(path);
  if (size === 0) return { end: 0, size };
  const file = await open(path, 'r');
  try {
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    const newline = buffer.subarray(0, bytesRead).lastIndexOf('\n');
    // Without a newline it is a torn line and nothing else, or so long that it is not ours to drop.
    if (newline === -1) return { end: from === 0 ? 0 : size, size };
    return { end: from + newline + 1, size };
  } finally {
    await file.close();
  }
}

function parseLine(line: string): ReadCheckpoint {
  let value: Partial<Record<keyof Checkpoint, unknown>> | null;
  try {
    value = JSON.parse(line) as typeof value;
  } catch {
    return { checkpoint: undefined, chain: /"chain":"([^"]{1,100})"/.exec(line)?.[1] };
  }
  const { chain, seq, hash, at, publicKey, signature } = value ?? {};
  if (
    typeof chain === 'string' &&
    isCount(seq) &&
    typeof hash === 'string' &&
    isCount(at) &&
    typeof publicKey === 'string' &&
    typeof signature === 'string'
  )
    return { chain, checkpoint: { chain, seq, hash, at, publicKey, signature } };
  return { checkpoint: undefined, chain: typeof chain === 'string' ? chain : undefined };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
