/**
 * Keeps a run's masked output on this machine's disk until the control plane has stored it.
 *
 * There is one file for each grant, a sequence of frames: kind (1 byte), length (4 bytes, big-endian), data.
 * Offsets on the wire count the data of all streams together, in this order. The writer and the one reader
 * work on the same open file; appends go through one queue. Unreadable data at the end of a reopened file
 * (half a frame that a killed process left, or damage) is cut off.
 *
 * When the disk is full the run goes on. Bytes that could not be written or were cut off are counted, and as
 * soon as there is room a frame of its own records how many are missing, as a line for people and as a number
 * for the control plane. No loss goes unreported.
 */
import { createHash, type Hash } from 'node:crypto';
import { open, readdir, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { removeIfThere } from '../disk/durable-file.ts';
import { errorCode } from '../platform/errors.ts';
import { characterBoundary } from './masking.ts';
import { refKey, refOfKey, type WorkRef } from '../control-plane/work-ref.ts';
import type { WireLogStream } from '../control-plane/wire.ts';

const STREAMS: readonly WireLogStream[] = ['stdout', 'stderr', 'runner'];
/** A frame of lost bytes: their number (4 bytes, big-endian), then the runner's line about it. */
const LOST_KIND = STREAMS.length;
const LOST_BYTES = 4;
const LOST_MAX = 0xff_ff_ff_ff;
const HEADER_BYTES = 5;
/** Longer appends are split, so that the reader can hold any frame in its buffer. */
const FRAME_BYTES_MAX = 65_536;
const READ_BYTES = 131_072;

/** Most data in one call, by contract. */
export const BATCH_BYTES_MAX = 262_144;
/**
 * The body of a call may be 393,216 bytes; base64 takes four characters for three bytes, a chunk about 40
 * around them.
 */
const BATCH_ENCODED_MAX = 380_000;
const CHUNK_OVERHEAD = 48 + 26;
/** Most chunks in one call, by contract. */
const CHUNKS_MAX = 4096;

export interface SpoolChunk {
  stream: WireLogStream;
  data: Buffer;
  /** Bytes of output before this chunk that were lost; they count in no offset. */
  missing?: number;
}

/** A chunk with its size in the file. */
interface Frame extends SpoolChunk {
  fileBytes: number;
}

export interface SpoolBatch {
  offset: number;
  chunks: SpoolChunk[];
  /** Offset behind the last chunk. */
  nextOffset: number;
}

export interface SpoolEnd {
  bytes: number;
  sha256: string;
}

export interface Spool {
  readonly ref: WorkRef;
  /** Data written so far, all streams together. */
  readonly bytes: number;
  /**
   * Resolves when the data is in the file (not necessarily on the disk). Rejects only for errors other than a
   * full disk.
   */
  append(stream: WireLogStream, data: Uint8Array): Promise<void>;
  /** Ends the output: syncs the file. Never rejects. */
  end(): Promise<SpoolEnd>;
  readonly ended: SpoolEnd | undefined;
  /** Returns the pieces from this offset on, at most one call's worth. There may be one reader only. */
  read(offset: number): Promise<SpoolBatch>;
  /** Called after each append and at the end. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
  /** Closes and deletes. */
  remove(): Promise<void>;
}

/** Opens the spool of a grant, an existing one with all whole frames that are in it. */
export async function openSpool(folder: string, ref: WorkRef): Promise<Spool> {
  const path = spoolPath(folder, ref);
  const file = await open(path, 'a+', 0o600);
  const hash = createHash('sha256');
  const found = await scan(file, hash);
  const unreadable = (await file.stat()).size - found.fileBytes;
  if (unreadable > 0) await file.truncate(found.fileBytes);
  // For one torn frame this is exactly the rest of its data; for other damage the number cannot be known.
  const lost = { bytes: unreadable > 0 ? Math.max(1, unreadable - HEADER_BYTES) : 0, why: UNREADABLE };
  return createSpool({ ref, path, file, hash, lost, ...found });
}

export function spoolPath(folder: string, ref: WorkRef): string {
  return join(folder, `${refKey(ref)}.log`);
}

/** Lists every grant that has a spool, and the size of all of them together. */
export async function listSpools(folder: string): Promise<{ refs: WorkRef[]; bytes: number }> {
  const refs: WorkRef[] = [];
  let bytes = 0;
  for (const name of await readdir(folder)) {
    const ref = name.endsWith('.log') ? refOfKey(name.slice(0, -'.log'.length)) : undefined;
    if (ref === undefined) continue;
    refs.push(ref);
    // Another part of the daemon may delete it at this very moment.
    bytes += (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;
  }
  return { refs, bytes };
}

interface OpenFile {
  ref: WorkRef;
  path: string;
  file: FileHandle;
  hash: Hash;
  /** Whole frames in the file. */
  fileBytes: number;
  bytes: number;
  /** Lost bytes that no frame records yet. */
  lost: { bytes: number; why: string };
}

const DISK_FULL = "the runner's disk was full";
const UNREADABLE = "the runner's copy of it was damaged, perhaps by a crash";

function createSpool(state: OpenFile): Spool {
  const { ref, path, file, hash } = state;
  let ended: SpoolEnd | undefined;
  let queue: Promise<void> = Promise.resolve();
  const listeners: (() => void)[] = [];
  const write = createWriter(state);
  const reader = createReader(file);
  const changed = () => {
    for (const listener of listeners) listener();
  };

  return {
    ref,
    get bytes() {
      return state.bytes;
    },
    async append(stream, data) {
      if (data.length === 0) return;
      const written = queue.then(async () => await write(stream, data));
      queue = written.catch(() => undefined);
      await written;
      changed();
    },
    async end() {
      await queue;
      // A broken disk may refuse both: the result matters more than the rest of the output.
      await write('runner', new Uint8Array()).catch(() => undefined);
      await file.datasync().catch(() => undefined);
      ended = { bytes: state.bytes, sha256: hash.copy().digest('hex') };
      changed();
      return ended;
    },
    get ended() {
      return ended;
    },
    read: async (offset) => await reader(offset, state.bytes),
    onChange: (listener) => void listeners.push(listener),
    async close() {
      await queue;
      await file.close();
    },
    async remove() {
      await queue;
      await file.close();
      await removeIfThere(path);
    },
  };
}

/**
 * Writes each append as a whole or not at all; bytes that a full disk refuses are counted, and a frame before
 * the next append that fits records them.
 */
function createWriter(state: OpenFile): (stream: WireLogStream, data: Uint8Array) => Promise<void> {
  const { file, hash, lost } = state;
  return async (stream, data) => {
    const pieces = [...(lost.bytes > 0 ? [missing(lost)] : []), ...piecesOf(stream, data)];
    if (pieces.length === 0) return;
    const frames = Buffer.concat(pieces.map(frameOf));
    try {
      await file.appendFile(frames);
    } catch (error) {
      // A partial append is taken out again, or the frames behind it would be unreadable.
      await file.truncate(state.fileBytes);
      if (!isDiskFull(error)) throw error;
      lost.bytes += data.length;
      lost.why = DISK_FULL;
      return;
    }
    lost.bytes = 0;
    state.fileBytes += frames.length;
    for (const piece of pieces) {
      state.bytes += piece.data.length;
      hash.update(piece.data);
    }
  };
}

function missing({ bytes, why }: OpenFile['lost']): SpoolChunk {
  return {
    stream: 'runner',
    data: Buffer.from(`\n[${bytes} bytes of output are missing here: ${why}]\n`),
    missing: Math.min(bytes, LOST_MAX),
  };
}

function piecesOf(stream: WireLogStream, data: Uint8Array): SpoolChunk[] {
  const pieces: SpoolChunk[] = [];
  for (let at = 0; at < data.length; at += FRAME_BYTES_MAX)
    pieces.push({ stream, data: Buffer.from(data.subarray(at, at + FRAME_BYTES_MAX)) });
  return pieces;
}

function frameOf({ stream, data, missing: lost }: SpoolChunk): Buffer {
  const extra = lost === undefined ? 0 : LOST_BYTES;
  const frame = Buffer.allocUnsafe(HEADER_BYTES + extra + data.length);
  frame.writeUInt8(lost === undefined ? STREAMS.indexOf(stream) : LOST_KIND, 0);
  frame.writeUInt32BE(extra + data.length, 1);
  if (lost !== undefined) frame.writeUInt32BE(lost, HEADER_BYTES);
  frame.set(data, HEADER_BYTES + extra);
  return frame;
}

function isDiskFull(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}

/** Walks over all whole frames, feeding the hash. */
async function scan(file: FileHandle, hash: Hash): Promise<{ fileBytes: number; bytes: number }> {
  let fileBytes = 0;
  let bytes = 0;
  for (;;) {
    const frame = await readFrame(file, fileBytes);
    if (frame === undefined) return { fileBytes, bytes };
    hash.update(frame.data);
    fileBytes += frame.fileBytes;
    bytes += frame.data.length;
  }
}

/** Reads the frame at this place of the file. It is undefined at the end or where it is not whole. */
async function readFrame(file: FileHandle, position: number): Promise<Frame | undefined> {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + FRAME_BYTES_MAX);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
  return frameIn(buffer.subarray(0, bytesRead));
}

function frameIn(buffer: Buffer): Frame | undefined {
  if (buffer.length < HEADER_BYTES) return undefined;
  const kind = buffer.readUInt8(0);
  const length = buffer.readUInt32BE(1);
  const fileBytes = HEADER_BYTES + length;
  // An empty frame is never written, but a crash of the machine can leave a tail of zeros, which would read
  // as endless empty frames.
  if (length === 0 || length > FRAME_BYTES_MAX || buffer.length < fileBytes) return undefined;
  if (kind === LOST_KIND) {
    if (length <= LOST_BYTES) return undefined;
    const data = buffer.subarray(HEADER_BYTES + LOST_BYTES, fileBytes);
    return { stream: 'runner', data, missing: buffer.readUInt32BE(HEADER_BYTES), fileBytes };
  }
  const stream = STREAMS[kind];
  return stream === undefined
    ? undefined
    : { stream, data: buffer.subarray(HEADER_BYTES, fileBytes), fileBytes };
}

/**
 * Reads batches; remembers where the last one ended, so that going on costs no search. A rewind walks from
 * the start.
 */
function createReader(file: FileHandle): (offset: number, end: number) => Promise<SpoolBatch> {
  /** The mark is a frame boundary: its place in the file, and the offset of the frame's first byte. */
  let mark = { position: 0, offset: 0 };

  return async (offset, end) => {
    if (offset < mark.offset) mark = { position: 0, offset: 0 };
    const room = { data: BATCH_BYTES_MAX, encoded: BATCH_ENCODED_MAX };
    const batch: Batch = { chunks: [], nextOffset: offset, room };
    let buffer = Buffer.alloc(0);
    let bufferAt = mark.position;
    while (mark.offset < end) {
      let frame = frameIn(buffer.subarray(mark.position - bufferAt));
      if (frame === undefined) {
        const fresh = Buffer.allocUnsafe(READ_BYTES);
        const { bytesRead } = await file.read(fresh, 0, READ_BYTES, mark.position);
        buffer = fresh.subarray(0, bytesRead);
        bufferAt = mark.position;
        frame = frameIn(buffer);
        if (frame === undefined) break;
      }
      const frameEnd = mark.offset + frame.data.length;
      if (frameEnd > batch.nextOffset && !addTo(batch, frame, batch.nextOffset - mark.offset)) break;
      if (batch.nextOffset < frameEnd) break;
      mark = { position: mark.position + frame.fileBytes, offset: frameEnd };
    }
    const chunks = batch.chunks.map(({ parts, ...chunk }) => ({ ...chunk, data: Buffer.concat(parts) }));
    return { offset, chunks, nextOffset: batch.nextOffset };
  };
}

/**
 * A batch under construction. Pieces are joined once at the end: joining them one by one would cost the
 * square of their number.
 */
interface Batch {
  chunks: { stream: WireLogStream; parts: Buffer[]; missing?: number }[];
  nextOffset: number;
  /** Bytes that still fit: of data, and of the encoded body. */
  room: { data: number; encoded: number };
}

/** Adds as much as fits of a frame from its byte `from` on; returns false when nothing more fits. */
function addTo(batch: Batch, frame: SpoolChunk, from: number): boolean {
  const { room } = batch;
  const last = batch.chunks.at(-1);
  // The number of lost bytes is sent once, with the first byte of its line.
  const lost = from === 0 ? frame.missing : undefined;
  const joined = last !== undefined && last.stream === frame.stream && lost === undefined;
  if (!joined && batch.chunks.length >= CHUNKS_MAX) return false;
  const encodedRoom = Math.floor((room.encoded - (joined ? 0 : CHUNK_OVERHEAD)) / 4) * 3 - 2;
  const allowed = Math.min(room.data, encodedRoom, frame.data.length - from);
  if (allowed <= 0) return false;
  let to = from + allowed;
  if (to < frame.data.length) {
    const boundary = characterBoundary(frame.data, from, to);
    if (boundary > from) to = boundary;
  }
  // The data is copied because the read buffer is larger than what is kept of it.
  const data = Buffer.from(frame.data.subarray(from, to));
  if (joined) last.parts.push(data);
  else
    batch.chunks.push({
      stream: frame.stream,
      parts: [data],
      ...(lost === undefined ? {} : { missing: lost }),
    });
  room.data -= data.length;
  room.encoded -= Math.ceil(data.length / 3) * 4 + (joined ? 0 : CHUNK_OVERHEAD);
  batch.nextOffset += data.length;
  return true;
}
