/**
 * Follows the output of an item: what is stored, then what comes, over every execution in turn, until the item has ended and all of it was
 * delivered. State: the position behind which it goes on, and one decoder a stream, because a character may be cut between two
 * appends and another stream may speak in between. A position is always the end of a stored piece, so that a client that comes back
 * misses nothing; the bytes of a character that was cut there are read again from the piece before.
 */
import { TextDecoder } from 'node:util';
import type { SqlTag } from '../platform/db/index.ts';
import type { LogStreamWord } from './append-logs.ts';
import { isFinal } from './states.ts';
import type { WorkState } from './states.ts';
import type { Wake } from './wake.ts';

/** Text of one stream. `epoch` and `offset` are the position behind it. */
export interface Output {
  readonly epoch: number;
  readonly offset: number;
  readonly stream: LogStreamWord;
  readonly text: string;
  readonly at: Date;
}

/** Everything before it was delivered. The start: `{ epoch: 0, offset: 0 }`. */
export interface OutputPosition {
  readonly epoch: number;
  readonly offset: number;
}

export interface FollowDeps {
  readonly sql: SqlTag;
  readonly wake: Wake;
}

export interface FollowOptions {
  readonly workId: string;
  readonly after: OutputPosition;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** Pieces read at once; each holds at most 256 KiB. */
const PAGE = 32;
const PIECE_BYTES_MAX = 262_144;
/** Other servers' output is noticed by reading again: soon after something came, then less often. */
const POLL_FIRST_MS = 25;
const POLL_MAX_MS = 500;
/** How long after the end of an item its runner may still be sending output that it has not announced as complete. */
const LATE_OUTPUT_MS = 5_000;

interface Piece {
  readonly epoch: number;
  readonly offset: number;
  readonly stream: LogStreamWord;
  readonly data: Uint8Array;
  readonly at: Date;
}

export interface Standing {
  readonly state: WorkState;
  /** Nothing more can come. */
  readonly settled: boolean;
}

export async function* followOutput(
  { sql, wake }: FollowDeps,
  { workId, after, follow, signal }: FollowOptions,
): AsyncGenerator<Output> {
  const reader = await OutputReader.at(sql, workId, after);
  for (let pauseMs = POLL_FIRST_MS; !signal.aborted;) {
    // Read before the output: what was stored before the end is then certainly seen.
    const standing = await standingOf(sql, workId);
    let some = false;
    for await (const event of reader.rest()) {
      some = true;
      yield event;
    }
    if (standing === undefined || standing.settled || !follow) break;
    pauseMs = nextPauseMs(pauseMs, some);
    await wake.wait(workId, pauseMs, signal);
  }
  if (!signal.aborted) yield* reader.end();
}

/** How long to wait before the next look, when nobody in this process says that something came. */
export function nextPauseMs(pauseMs: number, some: boolean): number {
  return some ? POLL_FIRST_MS : Math.min(pauseMs * 1.5, POLL_MAX_MS);
}

/** Undefined: the item is gone. */
export async function standingOf(sql: SqlTag, workId: string): Promise<Standing | undefined> {
  const [row] = await sql<
    Array<{ state: WorkState; epoch: number; complete: boolean; reported: boolean; ended_ms: number | null }>
  >`
    select w.state, w.epoch, w.log_complete as complete, p.work_id is not null as reported,
      extract(epoch from clock_timestamp() - w.finished_at) * 1000 as ended_ms
    from work_items w left join work_reports p on p.work_id = w.id where w.id = ${workId}`;
  if (row === undefined) return undefined;
  const nothingMore = row.complete || !row.reported || Number(row.ended_ms ?? 0) > LATE_OUTPUT_MS;
  return { state: row.state, settled: isFinal(row.state) && nothingMore };
}

/** What is stored of one item, from a position on. */
export class OutputReader {
  readonly #sql: SqlTag;
  readonly #workId: string;
  #epoch: number;
  #offset: number;
  #decoders = new Map<LogStreamWord, TextDecoder>();
  #lastAt = new Date(0);

  private constructor(sql: SqlTag, workId: string, { epoch, offset }: OutputPosition) {
    this.#sql = sql;
    this.#workId = workId;
    this.#epoch = epoch;
    this.#offset = offset;
  }

  static async at(sql: SqlTag, workId: string, after: OutputPosition): Promise<OutputReader> {
    const reader = new OutputReader(sql, workId, after);
    if (after.offset > 0) await reader.#prime();
    return reader;
  }

  /** Everything that is stored behind the position. */
  async *rest(): AsyncGenerator<Output> {
    for (;;) {
      const page = await this.#page();
      for (const piece of page) yield* this.#take(piece);
      if (page.length < PAGE) return;
    }
  }

  /** What a cut-off character at the very end comes to. */
  *end(): Generator<Output> {
    for (const [stream, decoder] of this.#decoders) {
      const text = decoder.decode();
      if (text !== '') yield this.#event(stream, text, this.#lastAt);
    }
    this.#decoders = new Map();
  }

  async #page(): Promise<readonly Piece[]> {
    const sql = this.#sql;
    return await sql<Piece[]>`
      select epoch, "offset", stream, data, at from work_logs
      where work_id = ${this.#workId} and (
        (epoch = ${this.#epoch}::bigint and "offset" >= ${this.#offset - PIECE_BYTES_MAX}::bigint and "offset" + length(data) > ${this.#offset}::bigint)
        or epoch > ${this.#epoch}::bigint)
      order by epoch, "offset" limit ${PAGE}::int`;
  }

  *#take(piece: Piece): Generator<Output> {
    if (piece.epoch !== this.#epoch) {
      yield* this.end();
      this.#epoch = piece.epoch;
      this.#offset = 0;
    }
    const fresh = piece.data.subarray(Math.max(0, this.#offset - piece.offset));
    this.#offset = piece.offset + piece.data.length;
    this.#lastAt = piece.at;
    const text = this.#decoder(piece.stream).decode(fresh, { stream: true });
    if (text !== '') yield this.#event(piece.stream, text, piece.at);
  }

  #event(stream: LogStreamWord, text: string, at: Date): Output {
    return { epoch: this.#epoch, offset: this.#offset, stream, text, at };
  }

  #decoder(stream: LogStreamWord): TextDecoder {
    const decoder = this.#decoders.get(stream) ?? new TextDecoder('utf-8', { ignoreBOM: true });
    this.#decoders.set(stream, decoder);
    return decoder;
  }

  /** Gives each decoder the bytes of a character that was cut before the position. */
  async #prime(): Promise<void> {
    // Three pieces are enough even if each holds one byte: no character has more than three bytes before its last.
    const sql = this.#sql;
    const rows = await sql<Array<{ stream: LogStreamWord; tail: Uint8Array }>>`
      select s.stream, string_agg(substring(p.data from greatest(1, p.seen - 2) for least(3, p.seen)), ''::bytea order by p."offset") as tail
      from (values ('stdout'), ('stderr'), ('runner')) s(stream), lateral (
        select g."offset", g.data, least(length(g.data), ${this.#offset}::bigint - g."offset")::int as seen from work_logs g
        where g.work_id = ${this.#workId} and g.epoch = ${this.#epoch}::bigint and g."offset" < ${this.#offset}::bigint and g.stream = s.stream
        order by g."offset" desc limit 3
      ) p
      group by s.stream`;
    for (const { stream, tail } of rows) {
      const cut = unfinished(tail);
      if (cut.length > 0) this.#decoder(stream).decode(cut, { stream: true });
    }
  }
}

/** The bytes at the end that begin a character and do not finish it; at most three. */
export function unfinished(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // inside of a character: its first byte lies further back
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(bytes.length - back) : new Uint8Array();
  }
  return new Uint8Array();
}
