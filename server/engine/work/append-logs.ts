/**
 * Stores output at its offset and renews the lease in passing. The item's row is locked by the statement, so
 * appends of one run follow each other; what is stored already is skipped, a gap is refused, and what exceeds
 * the run's limit is acknowledged without being kept. An answer means that the bytes are on disk.
 *
 * One statement stores a segment of each run that has one at the moment, and only exactly behind what is
 * stored. An append that overlaps or crosses the limit is told where things stand, is cut to fit, and comes
 * again: that happens after a lost answer and once a run, and keeps the usual statement short.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { createHash } from 'node:crypto';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { asked, callsInBatches, freshness, isFresh, type Freshness, type Signed } from './nonces.ts';
import type { LeaseStatus } from './heartbeat.ts';
import { preparePartitions } from './log-retention.ts';
import { cutPieces, encodeRuns, type LogPiece } from './log-runs.ts';
import { staleEpoch } from './report.ts';
import type { WorkSettings } from './settings.ts';
import { begun, contact, deadline } from './sql.ts';
import { ms, type Fragment } from '../../base/sql.ts';

export type { LogPiece, LogStreamWord } from './log-runs.ts';

export interface AppendInput extends Signed {
  readonly runnerId: string;
  readonly kind: WorkKind;
  readonly id: string;
  readonly epoch: number;
  /** The offset of the first byte, all streams of the epoch counted together. */
  readonly offset: number;
  readonly pieces: readonly LogPiece[];
  readonly end?: { readonly bytes: number; readonly sha256: string } | undefined;
}

export interface AppendOutcome {
  readonly nextOffset: number;
  /** The end was given, and length and digest match. */
  readonly complete: boolean;
  readonly status: LeaseStatus;
}

/**
 * A row says what became of a segment. All else is null where `found` is false, since the output is not this
 * runner's to write.
 */
interface Row extends Freshness {
  readonly found: boolean;
  readonly log_offset: number;
  readonly log_limit: number;
  readonly log_truncated: boolean;
  readonly log_complete: boolean;
  /**
   * It has hexadecimal digits. It is empty when the end was announced and the digest is not known yet, and
   * null when more may come.
   */
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
/**
 * Statements for one append: as it came, cut to fit, and again when another append of the same run came in
 * between.
 */
const TRIES_MAX = 4;
/** `no partition of relation … found for row` */
const NO_PARTITION = '23514';

/** An append that goes into a statement. */
interface Append extends AppendInput {
  readonly segment: Segment;
}

type Store = (append: Append) => Promise<Row>;

/** Appends in a statement, and bytes of them past which the next one waits. */
const ITEMS_MAX = 16;
const TOGETHER_BYTES_MAX = 1_048_576;

export type AppendLogs = (input: AppendInput) => Promise<AppendOutcome>;

export function createAppendLogs(sql: SqlTag, settings: WorkSettings): AppendLogs {
  const store = callsInBatches<Append, Row>(sql, {
    itemsMax: ITEMS_MAX,
    sizeMax: TOGETHER_BYTES_MAX,
    sizeOf: ({ segment }) => bytesOf(segment.pieces),
    keyOf: ({ id }) => id,
    run: async (appends) => await withPartition(sql, async () => await storeTogether(sql, settings, appends)),
  });
  return async (input) => await append(sql, store, input);
}

async function append(sql: SqlTag, store: Store, input: AppendInput): Promise<AppendOutcome> {
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
  const { row, nextOffset } = await storeFitting(store, input, input.offset + bytes);
  const { end } = input;
  const complete = end !== undefined && (await checkEnd(sql, { ...input, end, bytes: nextOffset, row }));
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
  store: Store,
  { nonce, ...input }: AppendInput,
  end: number,
): Promise<{ row: Row; nextOffset: number }> {
  let segment: Segment = { from: input.offset, to: end, pieces: input.pieces, cut: false };
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const row = await store({ ...input, segment, nonce: tries === 0 ? nonce : undefined });
    if (!row.found) throw staleEpoch(input, 'its output is not this runner’s to write');
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

/** One statement stores this segment: exactly behind `from`, moving the offset to `to`. */
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

function columns({ id, epoch, runnerId, kind, end, segment: { from, to, pieces, cut } }: Append) {
  const closes = end?.bytes === to;
  const length = bytesOf(pieces);
  return { id, epoch, runner_id: runnerId, kind, from, to, cut, closes, ...encodeRuns(pieces), length };
}

async function storeTogether(
  sql: SqlTag,
  settings: WorkSettings,
  appends: readonly Append[],
): Promise<readonly Row[]> {
  const types = sql`id text, epoch bigint, runner_id text, kind text, "from" bigint, "to" bigint, cut boolean, closes boolean, runs int[], missing bigint, length int`;
  return await sql<Row[]>`
    with ${asked(sql, appends, { columns, types })},
    item as materialized (
      select a.n, w.id, w.team_id, w.epoch, w.state, w.log_offset, w.log_limit, w.log_truncated, w.log_complete, w.log_sha256, ${deadline(sql, settings)} as deadline_at,
        w.cancel_requested_at is not null as cancel, x.ended_at is null and x.expires_at > clock_timestamp() as live,
        w.log_offset = a."from" and (a.cut or a."to" <= w.log_limit) and (a."to" = a."from" or w.log_sha256 is null) as fits
      from asked a
        join work_leases x on x.work_id = a.id and x.epoch = a.epoch and x.runner_id = a.runner_id
        join work_items w on w.id = x.work_id and w.epoch = x.epoch and w.kind = a.kind
      where ${isFresh(sql)} and (w.state in ('offered', 'running') or w.finished_at > clock_timestamp() - ${ms(sql, settings.lateLogsMs)})
      order by x.work_id for no key update of x, w
    ),
    advanced as (
      update work_items w set
        log_offset = a."to", log_bytes = least(a."to", h.log_limit), log_truncated = a."to" > h.log_limit,
        log_missing = w.log_missing + a.missing,
        -- Closed before it is read, or a byte that comes meanwhile would have all of it read again.
        log_sha256 = case when a.closes then coalesce(w.log_sha256, '') else w.log_sha256 end,
        log_day = coalesce(w.log_day, (clock_timestamp() at time zone 'UTC')::date),
        ${begun(sql, sql`(h.live and not h.cancel)`)}
      from item h join asked a on a.n = h.n where w.id = h.id and h.fits
      returning h.n, w.log_offset, w.log_day
    ),
    contacted as (
      update work_leases x set ${contact(sql, settings, sql`(h.live and not h.cancel and h.fits)`)}
      from item h where x.work_id = h.id and x.epoch = h.epoch and x.ended_at is null
    ),
    stored as (
      insert into work_logs (work_id, team_id, day, epoch, "offset", runs, data, at)
      select h.id, h.team_id, v.log_day, h.epoch, h.log_offset, a.runs, decode(d.data, 'base64'), clock_timestamp()
      from advanced v join item h on h.n = v.n join asked a on a.n = v.n join (values ${dataRows(sql, appends)}) d(n, data) on d.n = v.n
      where a.length > 0
    )
    select a.n, ${freshness(sql)}, h.id is not null as found,
      h.log_offset, h.log_limit, h.log_truncated, h.log_complete, encode(h.log_sha256, 'hex') as log_sha256,
      v.log_offset as next_offset, h.cancel, h.live
    from asked a left join item h on h.n = a.n left join advanced v on v.n = a.n
    order by a.n`;
}

/**
 * Writes the bytes beside the rest, each a parameter of its own. The driver sends bytes in hex: base64 is two
 * thirds of that and takes it half of the time.
 */
function dataRows(sql: SqlTag, appends: readonly Append[]): Fragment {
  const [first, ...others] = appends.map(
    ({ segment: { pieces } }, n) => sql`(${n}::int, ${joined(pieces).toString('base64')}::text)`,
  );
  return others.reduce((rows, row) => sql`${rows}, ${row}`, first ?? sql`(null::int, null::text)`);
}

/** Most often one piece, which need not be copied. */
function joined(pieces: readonly LogPiece[]): Buffer {
  const [first] = pieces;
  if (first === undefined || pieces.length > 1) return Buffer.concat(pieces.map(({ data }) => data));
  return Buffer.from(first.data.buffer, first.data.byteOffset, first.data.length);
}

/** An ending is what a runner says of the whole output of a grant, with what is stored of it. */
interface Ending {
  readonly id: string;
  readonly epoch: number;
  readonly end: NonNullable<AppendInput['end']>;
  readonly bytes: number;
  readonly row: Row;
}

/**
 * True when the whole output is what the runner says. What does not match is thrown away once, so that it can
 * be sent again from 0; if that does not help, what is there is kept, and the item and its output say so. The
 * digest is kept with either end: the output of a grant is read twice at most, however often its end is
 * announced.
 */
async function checkEnd(sql: SqlTag, ending: Ending): Promise<boolean> {
  const { id, end, bytes, row } = ending;
  if (bytes < end.bytes) throw gap(id, end.bytes, bytes);
  const known = row.log_sha256 === '' ? null : row.log_sha256;
  const truncated = bytes > row.log_limit;
  const sha256 = bytes > end.bytes || truncated ? null : (known ?? (await digestOf(sql, ending)));
  if (bytes === end.bytes && (truncated || sha256 === end.sha256)) {
    if (!row.log_complete || known === null) await markComplete(sql, ending, sha256);
    return true;
  }
  const differs = `${bytes} bytes of output of ${id} are stored and do not match the ${end.bytes} announced`;
  const isDecided = row.log_complete || known !== null;
  if (!isDecided && (await rewind(sql, ending))) throw mismatch(`${differs}: send all of it again from 0`, 0);
  if (!isDecided) await markMismatch(sql, ending, sha256);
  throw mismatch(
    row.log_complete
      ? `${differs} now; they matched what was announced before and are kept`
      : `${differs}, for the second time; they are kept and marked`,
    bytes,
  );
}

async function markComplete(sql: SqlTag, { id, epoch, bytes }: Ending, sha256: string | null): Promise<void> {
  await sql`
    update work_items set log_complete = true, log_mismatch = false, log_sha256 = coalesce(decode(${sha256}::text, 'hex'), log_sha256)
    where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${bytes} and log_sha256 is not null`;
}

/**
 * A digest is remembered for so long: by then it is stored, and calls whose statement ran before are
 * answered.
 */
const KNOWN_MS = 1_000;
/** One reading for calls that announce the same end at the same time. */
const digests = new Map<string, Promise<string>>();
const digestKey = ({ id, epoch, bytes }: Ending): string => `${id} ${epoch} ${bytes}`;

async function digestOf(sql: SqlTag, ending: Ending): Promise<string> {
  const key = digestKey(ending);
  const read = digests.get(key);
  if (read !== undefined) return await read;
  const reading = readDigest(sql, ending);
  digests.set(key, reading);
  const forget = (): unknown => digests.delete(key);
  void reading.then(() => setTimeout(forget, KNOWN_MS).unref(), forget);
  return await reading;
}

/** It digests what counts as output: a line of the runner's about it lies behind. */
async function readDigest(sql: SqlTag, { id, epoch, bytes }: Ending): Promise<string> {
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

/** False when it was done before. What comes in its place is read anew. */
async function rewind(sql: SqlTag, ending: Ending): Promise<boolean> {
  const { id, epoch, bytes } = ending;
  const [row] = await sql<Array<{ reset: boolean }>>`
    with reset as (
      update work_items set log_offset = 0, log_bytes = 0, log_missing = 0, log_truncated = false, log_complete = false, log_mismatch = true, log_sha256 = null
      where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${bytes} and not log_mismatch and not log_complete
      returning id, epoch, log_day
    ),
    thrown as (
      delete from work_logs g using reset r where g.work_id = r.id and g.day = r.log_day and g.epoch = r.epoch
    )
    select exists (select from reset) as reset`;
  digests.delete(digestKey(ending));
  return row?.reset === true;
}

/**
 * Writes a line of the runner behind the output, once. It lies behind what counts as output, so that neither
 * offset nor digest knows it.
 */
async function markMismatch(sql: SqlTag, { id, epoch, bytes }: Ending, sha256: string | null): Promise<void> {
  const line = Buffer.from(
    '\n[this output is not what the runner announced: its length or its digest differs]\n',
  );
  const { runs } = encodeRuns([{ stream: 'runner', data: line }]);
  await sql`
    with marked as (
      update work_items set log_sha256 = coalesce(decode(${sha256}::text, 'hex'), log_sha256, '')
      where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${bytes} and log_mismatch and log_day is not null
      returning id, team_id, log_day, epoch, log_offset
    )
    insert into work_logs (work_id, team_id, day, epoch, "offset", runs, data, at)
    select id, team_id, log_day, epoch, log_offset, ${runs}::integer[], ${line}::bytea, clock_timestamp() from marked
    on conflict do nothing`;
}
