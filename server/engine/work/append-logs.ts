/**
 * Stores output at its offset and renews the lease in passing. The item's row is locked by the statement, so appends of one run follow each other;
 * what is stored already is skipped, a gap is refused, and what exceeds the run's limit is acknowledged without being kept. An answer
 * means that the bytes are on disk.
 *
 * One statement stores one segment, and only exactly behind what is stored. An append that overlaps or crosses the limit is told where things stand,
 * is cut to fit, and comes again: that happens after a lost answer and once a run, and keeps the usual statement short.
 */
import { createHash } from 'node:crypto';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import type { LeaseStatus } from './heartbeat.ts';
import { preparePartitions } from './log-retention.ts';
import { cutPieces, encodeRuns } from './log-runs.ts';
import type { LogPiece } from './log-runs.ts';
import { staleEpoch } from './report.ts';
import type { WorkSettings } from './settings.ts';
import { contact, renewal } from './sql.ts';
import { ms } from '../../platform/sql.ts';

export type { LogPiece, LogStreamWord } from './log-runs.ts';

export interface AppendInput {
  readonly runnerId: string;
  readonly kind: WorkKind;
  readonly id: string;
  readonly epoch: number;
  /** Of the first byte, all streams of the epoch counted together. */
  readonly offset: number;
  readonly pieces: readonly LogPiece[];
  readonly end?: { readonly bytes: number; readonly sha256: string };
}

export interface AppendOutcome {
  readonly nextOffset: number;
  /** The end was given, and length and digest match. */
  readonly complete: boolean;
  readonly status: LeaseStatus;
}

interface Row {
  readonly log_offset: number;
  readonly log_limit: number;
  readonly log_truncated: boolean;
  readonly log_complete: boolean;
  /** In hexadecimal digits; empty: the end was announced and the digest is not known yet. Null: more may come. */
  readonly log_sha256: string | null;
  readonly next_offset: number | null;
  readonly cancel: boolean;
  readonly live: boolean;
}

/** Segments read at once for the digest; each holds at most one call's worth of bytes. */
const DIGEST_PAGE = 16;
export const APPEND_BYTES_MAX = 262_144;
/** Offsets travel as 32 bits without sign. */
const OFFSET_MAX = 4_294_967_295;
/** Statements for one append: as it came, cut to fit, and again when another append of the same run came in between. */
const TRIES_MAX = 4;
/** `no partition of relation … found for row` */
const NO_PARTITION = '23514';

export async function appendLogs(
  sql: SqlTag,
  settings: WorkSettings,
  input: AppendInput,
): Promise<AppendOutcome> {
  const bytes = bytesOf(input.pieces);
  if (bytes > APPEND_BYTES_MAX) {
    throw apiError(
      'validation_failed',
      `chunks hold ${bytes} bytes, at most ${APPEND_BYTES_MAX} fit into one call`,
    );
  }
  if (input.offset + bytes > OFFSET_MAX) {
    throw apiError(
      'validation_failed',
      `output of ${input.id} would reach ${input.offset + bytes} bytes, at most ${OFFSET_MAX} can be counted`,
    );
  }
  const { row, nextOffset } = await storeFitting(sql, settings, { input, end: input.offset + bytes });
  const complete =
    input.end === undefined ? false : await checkEnd(sql, input, { end: input.end, nextOffset, row });
  return {
    nextOffset,
    complete,
    status: row.live ? (row.cancel ? 'cancelled' : 'ok') : 'superseded',
  };
}

function bytesOf(pieces: readonly LogPiece[]): number {
  return pieces.reduce((sum, piece) => sum + piece.data.length, 0);
}

function gap(id: string, offset: number, nextOffset: number): Error {
  return apiError(
    'log_gap',
    `output of ${id} is stored up to ${nextOffset}, this call begins at ${offset}: send from ${nextOffset}`,
    {
      details: { nextOffset },
    },
  );
}

function mismatch(message: string, nextOffset: number): Error {
  return apiError('log_digest_mismatch', message, { details: { nextOffset } });
}

async function storeFitting(
  sql: SqlTag,
  settings: WorkSettings,
  { input, end }: { readonly input: AppendInput; readonly end: number },
): Promise<{ row: Row; nextOffset: number }> {
  let segment: Segment = { from: input.offset, to: end, pieces: input.pieces, cut: false };
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const row = await withPartition(sql, async () => await store(sql, settings, { input, segment }));
    if (row === undefined) throw staleEpoch(input, 'its output is not this runner’s to write');
    if (row.next_offset !== null) return { row, nextOffset: row.next_offset };
    if (row.log_offset < input.offset) throw gap(input.id, input.offset, row.log_offset);
    if (row.log_sha256 !== null && row.log_offset < end) {
      const stored = `the end of the ${row.log_offset} bytes of output of ${input.id} was announced`;
      throw mismatch(`${stored}, nothing is stored behind them`, row.log_offset);
    }
    segment = fitting(input, end, row);
  }
  throw apiError('unavailable', `output of ${input.id} is being written by several calls at once`, {
    retryAfterMs: 200,
  });
}

/** What one statement stores: exactly behind `from`, moving the offset to `to`. */
interface Segment {
  readonly from: number;
  readonly to: number;
  readonly pieces: readonly LogPiece[];
  /** It does not reach over the limit any more. */
  readonly cut: boolean;
}

function fitting({ pieces, offset }: AppendInput, end: number, row: Row): Segment {
  const { log_offset: from, log_limit: limit } = row;
  const kept = cutPieces(pieces, { offset, from, to: Math.min(end, limit) });
  const crosses = end > limit && !row.log_truncated;
  const mark: LogPiece = {
    stream: 'runner',
    data: Buffer.from(`\n[output was cut off after ${limit} bytes]\n`),
  };
  return { from, to: Math.max(from, end), pieces: crosses ? [...kept, mark] : kept, cut: true };
}

/** The partition of a day is normally made days before. */
async function withPartition<T>(sql: SqlTag, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    if (code !== NO_PARTITION || !String(message).includes('partition')) throw error;
    await preparePartitions(sql);
    return await run();
  }
}

async function store(
  sql: SqlTag,
  settings: WorkSettings,
  {
    input: { id, epoch, runnerId, kind, end },
    segment: { from, to, pieces, cut },
  }: { readonly input: AppendInput; readonly segment: Segment },
): Promise<Row | undefined> {
  const { runs, missing } = encodeRuns(pieces);
  const data = joined(pieces);
  const [row] = await sql<Row[]>`
    with item as materialized (
      select w.id, w.team_id, w.epoch, w.log_offset, w.log_limit, w.log_truncated, w.log_complete, w.log_sha256, w.cancel_requested_at is not null as cancel,
        w.state in ('offered', 'running') and w.lease_expires_at > clock_timestamp() as live,
        w.log_offset = ${from}::bigint and (${cut}::boolean or ${to}::bigint <= w.log_limit)
          and (${to}::bigint = ${from}::bigint or w.log_sha256 is null) as fits
      from work_items w
      where w.id = ${id} and w.epoch = ${epoch}::bigint and w.runner_id = ${runnerId} and w.kind = ${kind}
        and (w.state in ('offered', 'running') or w.finished_at > clock_timestamp() - ${ms(sql, settings.lateLogsMs)})
      for no key update
    ),
    advanced as (
      update work_items w set
        log_offset = ${to}::bigint, log_bytes = least(${to}::bigint, i.log_limit), log_truncated = ${to}::bigint > i.log_limit,
        log_missing = w.log_missing + ${missing}::bigint,
        -- Closed before it is read, or a byte that comes meanwhile would have all of it read again.
        log_sha256 = case when ${end?.bytes === to}::boolean then coalesce(w.log_sha256, '') else w.log_sha256 end,
        log_day = coalesce(w.log_day, (clock_timestamp() at time zone 'UTC')::date),
        ${renewal(sql, settings, sql`(i.live and not i.cancel)`)}
      from item i where w.id = i.id and i.fits
      returning w.log_offset, w.log_day
    ),
    contacted as (
      update work_leases x set ${contact(sql)} from item i
      where x.work_id = i.id and x.epoch = i.epoch and x.ended_at is null
    ),
    stored as (
      insert into work_logs (work_id, team_id, day, epoch, "offset", runs, data, at)
      select i.id, i.team_id, a.log_day, i.epoch, i.log_offset, ${runs}::integer[],
        -- The driver sends bytes in hex: base64 is two thirds of that and takes it half of the time.
        decode(${data.toString('base64')}, 'base64'), clock_timestamp()
      from item i, advanced a
      where ${data.length}::integer > 0
    )
    select i.log_offset, i.log_limit, i.log_truncated, i.log_complete, encode(i.log_sha256, 'hex') as log_sha256,
      a.log_offset as next_offset, i.cancel, i.live
    from item i left join advanced a on true`;
  return row;
}

function joined(pieces: readonly LogPiece[]): Buffer {
  const [first] = pieces;
  if (first === undefined || pieces.length > 1) return Buffer.concat(pieces.map(({ data }) => data));
  return Buffer.from(first.data.buffer, first.data.byteOffset, first.data.length);
}

/**
 * True when the whole output is what the runner says. What does not match is thrown away once, so that it can be sent again from 0; if that does not help,
 * what is there is kept, and the item and its output say so. The digest is kept with either end: the output of a grant is read twice at most, however often
 * its end is announced.
 */
async function checkEnd(
  sql: SqlTag,
  input: AppendInput,
  { end, nextOffset, row }: { readonly end: End; readonly nextOffset: number; readonly row: Row },
): Promise<boolean> {
  const { id, epoch } = input;
  if (nextOffset < end.bytes) throw gap(id, end.bytes, nextOffset);
  if (nextOffset > end.bytes || nextOffset > row.log_limit || (row.log_sha256 ?? '') !== '')
    return await settleEnd(sql, input, { end, nextOffset, row, digest: row.log_sha256 });
  const key = `${id} ${epoch} ${nextOffset}`;
  const reading = reckoning.get(key) ?? digestOf(sql, { id, epoch, bytes: nextOffset });
  reckoning.set(key, reading);
  try {
    return await settleEnd(sql, input, { end, nextOffset, row, digest: await reading });
  } finally {
    // Not before what came of it is stored, where the next call finds it.
    reckoning.delete(key);
  }
}

type End = NonNullable<AppendInput['end']>;

/** One reading for calls that announce the same end at the same time. */
const reckoning = new Map<string, Promise<string>>();

/** @param digest Of what is stored, if it had to be known. */
async function settleEnd(
  sql: SqlTag,
  { id, epoch }: AppendInput,
  {
    end,
    nextOffset,
    row,
    digest,
  }: { readonly end: End; readonly nextOffset: number; readonly row: Row; readonly digest: string | null },
): Promise<boolean> {
  const known = row.log_sha256 === '' ? null : row.log_sha256;
  const truncated = nextOffset > row.log_limit;
  const sha256 = nextOffset === end.bytes && !truncated ? digest : null;
  if (nextOffset === end.bytes && (truncated || sha256 === end.sha256)) {
    if (!row.log_complete || known === null) await markComplete(sql, { id, epoch, nextOffset, sha256 });
    return true;
  }
  const differs = `${nextOffset} bytes of output of ${id} are stored and do not match the ${end.bytes} announced`;
  const isDecided = row.log_complete || known !== null;
  if (!isDecided && (await rewind(sql, { id, epoch, expected: nextOffset })))
    throw mismatch(`${differs}: send all of it again from 0`, 0);
  if (!isDecided) await markMismatch(sql, { id, epoch, offset: nextOffset, sha256 });
  throw mismatch(
    row.log_complete
      ? `${differs} now; they matched what was announced before and are kept`
      : `${differs}, for the second time; they are kept and marked`,
    nextOffset,
  );
}

async function markComplete(
  sql: SqlTag,
  {
    id,
    epoch,
    nextOffset,
    sha256,
  }: {
    readonly id: string;
    readonly epoch: number;
    readonly nextOffset: number;
    readonly sha256: string | null;
  },
): Promise<void> {
  await sql`
    update work_items set log_complete = true, log_mismatch = false, log_sha256 = coalesce(decode(${sha256}::text, 'hex'), log_sha256)
    where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${nextOffset} and log_sha256 is not null`;
}

/** Of what counts as output: a line of the runner's about it lies behind. */
async function digestOf(
  sql: SqlTag,
  { id, epoch, bytes }: { readonly id: string; readonly epoch: number; readonly bytes: number },
): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; ;) {
    const page = await sql<Array<{ offset: number; data: Uint8Array }>>`
      select "offset", data from work_logs
      where work_id = ${id} and day = (select log_day from work_items where id = ${id})
        and epoch = ${epoch}::int and "offset" >= ${from}::bigint and "offset" < ${bytes}::bigint order by "offset" limit ${DIGEST_PAGE}::int`;
    for (const row of page) hash.update(row.data);
    const last = page.at(-1);
    if (last === undefined || page.length < DIGEST_PAGE) return hash.digest('hex');
    from = last.offset + 1;
  }
}

/** False when it was done before. */
async function rewind(
  sql: SqlTag,
  { id, epoch, expected }: { readonly id: string; readonly epoch: number; readonly expected: number },
): Promise<boolean> {
  const [row] = await sql<Array<{ reset: boolean }>>`
    with reset as (
      update work_items set log_offset = 0, log_bytes = 0, log_missing = 0, log_truncated = false, log_complete = false, log_mismatch = true, log_sha256 = null
      where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${expected} and not log_mismatch and not log_complete
      returning id, epoch, log_day
    ),
    thrown as (
      delete from work_logs g using reset r where g.work_id = r.id and g.day = r.log_day and g.epoch = r.epoch
    )
    select exists (select from reset) as reset`;
  return row?.reset === true;
}

/** A line of the runner behind the output, once. It lies behind what counts as output, so that neither offset nor digest knows it. */
async function markMismatch(
  sql: SqlTag,
  {
    id,
    epoch,
    offset,
    sha256,
  }: { readonly id: string; readonly epoch: number; readonly offset: number; readonly sha256: string | null },
): Promise<void> {
  const line = Buffer.from(
    '\n[this output is not what the runner announced: its length or its digest differs]\n',
  );
  const { runs } = encodeRuns([{ stream: 'runner', data: line }]);
  await sql`
    with marked as (
      update work_items set log_sha256 = coalesce(decode(${sha256}::text, 'hex'), log_sha256, '')
      where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${offset} and log_mismatch and log_day is not null
      returning id, team_id, log_day, epoch, log_offset
    )
    insert into work_logs (work_id, team_id, day, epoch, "offset", runs, data, at)
    select id, team_id, log_day, epoch, log_offset, ${runs}::integer[], ${line}::bytea, clock_timestamp() from marked
    on conflict do nothing`;
}
