/**
 * Stores output at its offset and renews the lease in passing. The item's row is locked by the statement, so appends of one run follow each other;
 * what is stored already is skipped, a gap is refused, and what exceeds the run's limit is acknowledged without being kept. An answer
 * means that the bytes are on disk.
 */
import { createHash } from 'node:crypto';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { SqlTag } from '../platform/db/index.ts';
import type { LeaseWord } from './heartbeat.ts';
import { staleEpoch } from './report.ts';
import type { WorkSettings } from './settings.ts';
import { contact, ms, renewal } from './sql.ts';

export type LogStreamWord = 'stdout' | 'stderr' | 'runner';

export interface LogPiece {
  readonly stream: LogStreamWord;
  readonly data: Uint8Array;
}

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
  readonly word: LeaseWord;
}

interface Row {
  readonly log_offset: number;
  readonly appended: boolean;
  readonly next_offset: number | null;
  readonly truncated: boolean;
  readonly cancel: boolean;
  readonly live: boolean;
}

/** Rows read at once for the digest; each holds at most one call's worth of bytes. */
const DIGEST_PAGE = 32;
export const APPEND_BYTES_MAX = 262_144;
/** Offsets travel as 32 bits without sign. */
const OFFSET_MAX = 4_294_967_295;

export async function appendLogs(
  sql: SqlTag,
  settings: WorkSettings,
  input: AppendInput,
): Promise<AppendOutcome> {
  const bytes = input.pieces.reduce((sum, piece) => sum + piece.data.length, 0);
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
  const row = await store(sql, settings, input, bytes);
  if (row === undefined) throw staleEpoch(input, 'its output is not this runner’s to write');
  if (!row.appended || row.next_offset === null) throw gap(input.id, input.offset, row.log_offset);
  const complete =
    input.end === undefined ? false : await checkEnd(sql, input, input.end, row.next_offset, row.truncated);
  return {
    nextOffset: row.next_offset,
    complete,
    word: row.live ? (row.cancel ? 'cancelled' : 'ok') : 'superseded',
  };
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

/** Neighbours of one stream as one: a row costs more than its bytes. */
function merge(pieces: readonly LogPiece[]): Array<{ stream: LogStreamWord; length: number }> {
  const merged: Array<{ stream: LogStreamWord; length: number }> = [];
  for (const { stream, data } of pieces) {
    const last = merged.at(-1);
    if (last?.stream === stream) last.length += data.length;
    else merged.push({ stream, length: data.length });
  }
  return merged;
}

async function store(
  sql: SqlTag,
  settings: WorkSettings,
  input: AppendInput,
  bytes: number,
): Promise<Row | undefined> {
  const { id, epoch, runnerId, kind, offset, pieces } = input;
  const merged = merge(pieces);
  const data = Buffer.concat(pieces.map((piece) => piece.data));
  const [row] = await sql<Row[]>`
    with item as materialized (
      select w.id, w.team_id, w.epoch, w.log_offset, w.log_limit, w.log_truncated, w.cancel_requested_at is not null as cancel,
        w.state in ('offered', 'running') and w.lease_expires_at > clock_timestamp() as live,
        greatest(w.log_offset, ${offset + bytes}::bigint) as next_offset,
        ${offset}::bigint <= w.log_offset as fits
      from work_items w
      where w.id = ${id} and w.epoch = ${epoch}::bigint and w.runner_id = ${runnerId} and w.kind = ${kind}
        and (w.state in ('offered', 'running') or w.finished_at > clock_timestamp() - ${ms(sql, settings.lateLogsMs)})
      for no key update
    ),
    advanced as (
      update work_items w set
        log_offset = i.next_offset, log_bytes = least(i.next_offset, i.log_limit), log_truncated = i.next_offset > i.log_limit,
        ${renewal(sql, settings, sql`(i.live and not i.cancel)`)}
      from item i where w.id = i.id and i.fits
      returning w.log_offset
    ),
    heard as (
      update work_leases x set ${contact(sql)} from item i
      where x.work_id = i.id and x.epoch = i.epoch and x.ended_at is null
    ),
    piece as (
      select stream, length, ${offset}::bigint + sum(length) over (order by n) - length as at
      from unnest(${merged.map((m) => m.stream)}::text[], ${merged.map((m) => m.length)}::bigint[]) with ordinality p(stream, length, n)
    ),
    stored as (
      insert into work_logs (work_id, team_id, epoch, "offset", stream, data, at)
      select i.id, i.team_id, i.epoch, p.first, p.stream,
        substring(${data}::bytea from (p.first - ${offset}::bigint + 1)::int for (p.last - p.first)::int), clock_timestamp()
      from item i, lateral (
        select stream, greatest(at, i.log_offset) as first, least(at + length, i.log_limit) as last from piece
      ) p
      where i.fits and p.last > p.first
    ),
    marked as (
      insert into work_logs (work_id, team_id, epoch, "offset", stream, data, at)
      select i.id, i.team_id, i.epoch, i.log_limit, 'runner',
        convert_to(E'\n[output was cut off after ' || i.log_limit || E' bytes]\n', 'UTF8'), clock_timestamp()
      from item i where i.fits and i.next_offset > i.log_limit and not i.log_truncated
    )
    select i.log_offset, i.fits as appended, a.log_offset as next_offset, i.next_offset > i.log_limit as truncated, i.cancel, i.live
    from item i left join advanced a on true`;
  return row;
}

/** True when the whole output is what the runner says. What does not match is thrown away, so that it can be sent again from 0. */
async function checkEnd(
  sql: SqlTag,
  { id, epoch }: AppendInput,
  end: { readonly bytes: number; readonly sha256: string },
  nextOffset: number,
  truncated: boolean,
): Promise<boolean> {
  if (nextOffset < end.bytes) throw gap(id, end.bytes, nextOffset);
  const matches = nextOffset === end.bytes && (truncated || (await digestOf(sql, id, epoch)) === end.sha256);
  if (!matches) {
    await rewind(sql, id, epoch, nextOffset);
    throw apiError(
      'log_digest_mismatch',
      `${nextOffset} bytes of output of ${id} are stored and do not match the ${end.bytes} announced: send all of it again from 0`,
      { details: { nextOffset: 0 } },
    );
  }
  await sql`update work_items set log_complete = true where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${nextOffset}`;
  return true;
}

async function digestOf(sql: SqlTag, id: string, epoch: number): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; ;) {
    const page = await sql<Array<{ offset: number; data: Uint8Array }>>`
      select "offset", data from work_logs
      where work_id = ${id} and epoch = ${epoch}::bigint and "offset" >= ${from} order by "offset" limit ${DIGEST_PAGE}::int`;
    for (const row of page) hash.update(row.data);
    const last = page.at(-1);
    if (last === undefined || page.length < DIGEST_PAGE) return hash.digest('hex');
    from = last.offset + 1;
  }
}

async function rewind(sql: SqlTag, id: string, epoch: number, expected: number): Promise<void> {
  await sql`
    with reset as (
      update work_items set log_offset = 0, log_bytes = 0, log_truncated = false, log_complete = false
      where id = ${id} and epoch = ${epoch}::bigint and log_offset = ${expected}
      returning id, epoch
    )
    delete from work_logs g using reset r where g.work_id = r.id and g.epoch = r.epoch`;
}
