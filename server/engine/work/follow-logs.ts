/**
 * Follows the output of an item: what is stored, then what comes, over every execution in turn, until the
 * item has ended and all of it was delivered. State: the position behind which it goes on, and one decoder a
 * stream, because a character may be cut between two appends and another stream may speak in between. A
 * position may lie anywhere in the stored output; what was cut there is read again from before it.
 *
 * Segments are read by the primary key alone, forward from the one that holds the position, and few at a
 * time: a reader that is slow holds one page and no more, whatever is stored behind it. Readers that wait at
 * the same place of the same output share their statements (shared-read.ts).
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { TextDecoder } from 'node:util';
import type { SqlTag } from '../../base/db/index.ts';
import { decodeRuns, type LogStreamWord } from './log-runs.ts';
import { sharedRead } from './shared-read.ts';
import { isFinal, type WorkState } from './words.ts';
import type { Wake } from './wake.ts';

/** Text of one stream. `epoch` and `offset` are the position behind it. */
export interface Output {
  readonly epoch: number;
  readonly offset: number;
  readonly stream: LogStreamWord;
  readonly text: string;
  readonly at: Date;
  /** Bytes of output that were lost on the runner's machine in front of it. */
  readonly missing?: number;
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

/** Segments read at once: few large ones or many small ones, so that a page stays near a megabyte. */
const PAGE_FIRST = 4;
const PAGE_MAX = 256;
const PAGE_BYTES = 1_048_576;
/** Other servers' output is noticed by reading again: soon after something came, then less often. */
const POLL_FIRST_MS = 25;
const POLL_MAX_MS = 500;
/**
 * The time after the end of an item in which its runner may still be sending output that it has not announced
 * as complete.
 */
const LATE_OUTPUT_MS = 5_000;
/** How far back a stream is looked for whose last character may be cut at the position. */
const PRIME_SEGMENTS = 64;
const POSITION_MAX = 2_147_483_647;

export interface Segment {
  readonly epoch: number;
  readonly offset: number;
  readonly runs: readonly number[];
  readonly data: Uint8Array;
  readonly at: Date;
}

export interface ItemStatus {
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
    const status = await itemStatusOf(sql, workId);
    let some = false;
    for await (const event of reader.rest()) {
      some = true;
      yield event;
    }
    if (status === undefined || status.settled || !follow) break;
    pauseMs = nextPauseMs(pauseMs, some);
    await wake.wait(workId, pauseMs, signal);
  }
  if (!signal.aborted) yield* reader.end();
}

/** Returns how long to wait before the next look, when nobody in this process says that something came. */
export function nextPauseMs(pauseMs: number, some: boolean): number {
  return some ? POLL_FIRST_MS : Math.min(pauseMs * 1.5, POLL_MAX_MS);
}

/** Returns undefined when the item is gone. */
export async function itemStatusOf(sql: SqlTag, workId: string): Promise<ItemStatus | undefined> {
  return await sharedRead(sql, `status ${workId}`, async () => {
    const [row] = await sql<
      Array<{ state: WorkState; complete: boolean; reported: boolean; ended_ms: number | null }>
    >`
      select w.state, w.log_complete as complete, p.work_id is not null as reported,
        extract(epoch from clock_timestamp() - w.finished_at) * 1000 as ended_ms
      from work_items w left join work_reports p on p.work_id = w.id where w.id = ${workId}`;
    if (row === undefined) return undefined;
    const nothingMore = row.complete || !row.reported || Number(row.ended_ms ?? 0) > LATE_OUTPUT_MS;
    return { state: row.state, settled: isFinal(row.state) && nothingMore };
  });
}

/** Offset at which the last `bytes` of the newest execution's output begin. */
export async function tailPosition(sql: SqlTag, workId: string, bytes: number): Promise<OutputPosition> {
  const [row] = await sql<Array<{ epoch: number; log_bytes: number }>>`
    select epoch, log_bytes from work_items where id = ${workId}`;
  return { epoch: row?.epoch ?? 0, offset: Math.max(0, (row?.log_bytes ?? 0) - bytes) };
}

/** The statement that reads a page: one range of one partition's primary key, see the test of its plan. */
export function pageOf(
  sql: SqlTag,
  workId: string,
  { from: { epoch, offset }, limit }: { readonly from: OutputPosition; readonly limit: number },
): ReturnType<typeof sql<Segment[]>> {
  return sql<Segment[]>`
    select epoch, "offset", runs, data, at from work_logs
    where work_id = ${workId} and day = (select log_day from work_items where id = ${workId})
      and (epoch, "offset") >= (${epoch}::int, ${offset}::int)
    order by epoch, "offset" limit ${limit}::int`;
}

/** First byte of the segment that holds the position. */
export async function segmentStart(
  sql: SqlTag,
  workId: string,
  { epoch, offset }: OutputPosition,
): Promise<number> {
  const [row] = await sql<Array<{ offset: number }>>`
    select "offset" from work_logs
    where work_id = ${workId} and day = (select log_day from work_items where id = ${workId})
      and epoch = ${epoch}::int and "offset" <= ${offset}::bigint
    order by "offset" desc limit 1`;
  return row?.offset ?? 0;
}

/** Reads what is stored of one item, from a position on. */
export class OutputReader {
  readonly #sql: SqlTag;
  readonly #workId: string;
  #epoch: number;
  #offset: number;
  /** The next page begins here, at or before the position. */
  #from: number;
  #limit = PAGE_FIRST;
  #decoders = new Map<LogStreamWord, TextDecoder>();
  #lastAt = new Date(0);

  private constructor(
    sql: SqlTag,
    workId: string,
    { epoch, offset, from }: OutputPosition & { readonly from: number },
  ) {
    this.#sql = sql;
    this.#workId = workId;
    this.#epoch = epoch;
    this.#offset = offset;
    this.#from = from;
  }

  static async at(sql: SqlTag, workId: string, after: OutputPosition): Promise<OutputReader> {
    // Both are stored in 31 bits; what a caller makes up beyond them is behind everything.
    const position = {
      epoch: Math.min(after.epoch, POSITION_MAX),
      offset: Math.min(after.offset, POSITION_MAX),
    };
    if (position.offset === 0) return new OutputReader(sql, workId, { ...position, from: 0 });
    const from = await segmentStart(sql, workId, position);
    const reader = new OutputReader(sql, workId, { ...position, from });
    await reader.#prime();
    return reader;
  }

  /** Everything that is stored behind the position. */
  async *rest(): AsyncGenerator<Output> {
    for (;;) {
      const limit = this.#limit;
      const page = await this.#page(limit);
      for (const segment of page) yield* this.#take(segment);
      this.#adapt(page);
      if (page.length < limit) return;
    }
  }

  /** Text of a character that is cut off at the very end. */
  *end(): Generator<Output> {
    for (const [stream, decoder] of this.#decoders) {
      const text = decoder.decode();
      if (text !== '') yield this.#event(stream, { text, at: this.#lastAt, missing: 0 });
    }
    this.#decoders = new Map();
  }

  async #page(limit: number): Promise<readonly Segment[]> {
    const from = { epoch: this.#epoch, offset: this.#from };
    return await sharedRead(
      this.#sql,
      `page ${this.#workId} ${from.epoch} ${from.offset} ${limit}`,
      async () => await pageOf(this.#sql, this.#workId, { from, limit }),
    );
  }

  #adapt(page: readonly Segment[]): void {
    const bytes = page.reduce((sum, segment) => sum + segment.data.length, 0);
    if (page.length === this.#limit && bytes < PAGE_BYTES / 2)
      this.#limit = Math.min(PAGE_MAX, this.#limit * 2);
    else if (bytes > PAGE_BYTES) this.#limit = Math.max(PAGE_FIRST, Math.floor(this.#limit / 2));
  }

  *#take(segment: Segment): Generator<Output> {
    if (segment.epoch !== this.#epoch) {
      yield* this.end();
      this.#epoch = segment.epoch;
      this.#offset = 0;
    }
    this.#lastAt = segment.at;
    for (const { stream, at, length, missing } of decodeRuns(segment.runs)) {
      const first = segment.offset + at;
      const fresh = Math.max(first, this.#offset);
      const last = first + length;
      if (fresh >= last) continue;
      this.#offset = last;
      const bytes = segment.data.subarray(fresh - segment.offset, last - segment.offset);
      const text = this.#decoder(stream).decode(bytes, { stream: true });
      const lost = fresh === first ? missing : 0;
      if (text !== '' || lost > 0) yield this.#event(stream, { text, at: segment.at, missing: lost });
    }
    this.#from = Math.max(this.#offset, segment.offset + segment.data.length);
  }

  #event(
    stream: LogStreamWord,
    { text, at, missing }: { readonly text: string; readonly at: Date; readonly missing: number },
  ): Output {
    const event = { epoch: this.#epoch, offset: this.#offset, stream, text, at };
    return missing > 0 ? { ...event, missing } : event;
  }

  #decoder(stream: LogStreamWord): TextDecoder {
    const decoder = this.#decoders.get(stream) ?? new TextDecoder('utf-8', { ignoreBOM: true });
    this.#decoders.set(stream, decoder);
    return decoder;
  }

  /** Gives each decoder the bytes of a character that was cut before the position. */
  async #prime(): Promise<void> {
    const sql = this.#sql;
    const rows = await sql<Array<{ code: number; tail: Uint8Array }>>`
      with recent as (
        select "offset", runs, data from work_logs
        where work_id = ${this.#workId} and day = (select log_day from work_items where id = ${this.#workId})
          and epoch = ${this.#epoch}::int and "offset" < ${this.#offset}::int
        order by "offset" desc limit ${PRIME_SEGMENTS}::int
      ),
      run as (
        select r."offset", r.data, n, r.runs[2 * n - 1] as code, r.runs[2 * n] as length,
          coalesce(sum(r.runs[2 * n]) filter (where r.runs[2 * n - 1] > 0) over (partition by r."offset" order by n rows between unbounded preceding and 1 preceding), 0)::int as first
        from recent r, generate_series(1, cardinality(r.runs) / 2) n
      ),
      seen as (
        select *, least(length, ${this.#offset}::int - "offset" - first) as known,
          row_number() over (partition by code order by "offset" desc, n desc) as back
        from run where code > 0 and "offset" + first < ${this.#offset}::int
      )
      select code, string_agg(substring(data from first + greatest(1, known - 2) for least(3, known)), ''::bytea order by "offset", n) as tail
      from seen where back <= 3 group by code`;
    for (const { code, tail } of rows) {
      const cut = unfinished(tail);
      const [run] = decodeRuns([code, cut.length]);
      if (run !== undefined && cut.length > 0) this.#decoder(run.stream).decode(cut, { stream: true });
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
