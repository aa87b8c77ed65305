/**
 * Reads what is new in a log of which older parts were renamed to `<base>.1`, `.2` and so on. A position is
 * the inode of a file and an offset, so that it holds over a rename, and in a later process.
 */
import { readdir, open, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

const CHUNK_BYTES = 64 * 1_024;
/** A longer line is not kept in memory; of it only the beginning is told. */
const LINE_BYTES_MAX = 64 * 1_024;
const BEGINNING_BYTES = 256;

export interface Position {
  inode: number;
  /** It lies behind the end of a line. */
  offset: number;
  /** The file was read to its end after it was renamed; nginx may have written to it once more. */
  isEnded?: boolean;
}

export interface Tailing {
  dir: string;
  base: string;
  from: Position | undefined;
  /** It stops there exactly, when the file is still there. */
  to?: Position | undefined;
  bytesMax: number;
  /** A line that is too long is told by its beginning, which is no whole JSON. */
  onLine: (line: Buffer) => void;
}

export interface Tailed {
  /** It is undefined where there is no log yet. */
  position: Position | undefined;
  /** The bytes were too many for one call. */
  hasMore: boolean;
}

interface LogFile {
  path: string;
  inode: number;
  size: number;
}

/** Gives the parts that are there, the oldest first. */
export async function logFiles(dir: string, base: string): Promise<LogFile[]> {
  const numbers = (await readdir(dir)).flatMap((name) => {
    if (name === base) return [0];
    const number = name.startsWith(`${base}.`) ? Number(name.slice(base.length + 1)) : Number.NaN;
    return Number.isInteger(number) && number > 0 ? [number] : [];
  });
  const files: LogFile[] = [];
  for (const number of numbers.toSorted((a, b) => b - a)) {
    const path = join(dir, number === 0 ? base : `${base}.${number}`);
    const found = await stat(path).catch(() => undefined); // It was rotated away meanwhile.
    if (found?.isFile() === true) files.push({ path, inode: found.ino, size: found.size });
  }
  return files;
}

export async function tail({ dir, base, from, to, bytesMax, onLine }: Tailing): Promise<Tailed> {
  const files = await logFiles(dir, base);
  const found = files.findIndex(({ inode }) => inode === from?.inode);
  // Somebody deleted the file that was read last: the present file is all that is surely new.
  const start = found === -1 ? files.length - 1 : found;
  const stop = files.some(({ inode }) => inode === to?.inode) ? to : undefined;
  let position: Position | undefined = found === -1 ? undefined : from;
  let left = bytesMax;
  for (let at = Math.max(0, start); at < files.length; at += 1) {
    const file = files[at];
    if (file === undefined) break;
    const isSame = position?.inode === file.inode;
    // A file that is shorter than before was emptied.
    const offset = isSame && position !== undefined && position.offset <= file.size ? position.offset : 0;
    const isLast = stop?.inode === file.inode;
    const end = isLast ? Math.min(stop.offset, file.size) : file.size;
    const next = await readLines({ path: file.path, offset, end, bytesMax: left, onLine });
    const isOld = at < files.length - 1;
    const wasEnded = isSame && position?.isEnded === true && next === offset;
    position = { inode: file.inode, offset: next, ...(isOld && { isEnded: true }) };
    left -= next - offset;
    if (left <= 0) return { position, hasMore: true };
    if (isLast || (isOld && !wasEnded && stop === undefined)) break;
  }
  return { position: stop ?? position, hasMore: false };
}

interface Reading extends Pick<Tailing, 'onLine' | 'bytesMax'> {
  path: string;
  offset: number;
  end: number;
}

/** Returns the offset behind the last whole line. */
async function readLines(reading: Reading): Promise<number> {
  const { path, offset, end, bytesMax } = reading;
  if (offset >= end) return offset;
  const file = await open(path, 'r').catch(() => undefined); // It was rotated away meanwhile.
  if (file === undefined) return offset;
  try {
    const lines = splitLines(reading.onLine);
    const readTo = await readChunks(file, { offset, end: Math.min(end, offset + bytesMax) }, lines.add);
    const whole = offset + lines.wholeBytes();
    // A line that is longer than one call may read is given up.
    return whole === offset && readTo - offset >= bytesMax ? readTo : whole;
  } finally {
    await file.close();
  }
}

type Span = Pick<Reading, 'offset' | 'end'>;

async function readChunks(
  file: FileHandle,
  { offset, end }: Span,
  add: (chunk: Buffer) => void,
): Promise<number> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let at = offset;
  while (at < end) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, end - at), at);
    if (bytesRead === 0) break;
    add(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return at;
}

const NEWLINE = 10;

function splitLines(onLine: Tailing['onLine']) {
  let kept = Buffer.alloc(0);
  let keptBytes = 0;
  let wholeBytes = 0;
  const keep = (part: Buffer) => {
    keptBytes += part.length;
    // No more than its beginning is kept of a line that is too long.
    if (keptBytes > LINE_BYTES_MAX) kept = Buffer.concat([kept, part]).subarray(0, BEGINNING_BYTES);
    else kept = Buffer.concat([kept, part]);
  };
  return {
    wholeBytes: () => wholeBytes,
    add(chunk: Buffer): void {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        const rest = chunk.subarray(start, end);
        if (keptBytes === 0 && rest.length <= LINE_BYTES_MAX) onLine(rest);
        else {
          keep(rest);
          onLine(kept);
        }
        wholeBytes += keptBytes === 0 ? rest.length + 1 : keptBytes + 1;
        [kept, keptBytes, start] = [Buffer.alloc(0), 0, end + 1];
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
  };
}
