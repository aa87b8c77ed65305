/**
 * Takes what a runner tells of the logs of its machine. One statement keeps all of a call: lines go behind
 * those of their log that came before, a few of the oldest go with them, and counters of a minute take the
 * place of smaller ones. Lines of a number that came before are not taken again. What a runner tells of an
 * environment that is not on its machine changes nothing. The cost goes by what is told, and not by what is
 * there.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import {
  NginxLogLineSchema,
  type NginxLogLine,
  type NginxMinute,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { SqlTag } from '../../base/db/index.ts';
import { fewRows } from '../../base/sql.ts';
import {
  asked,
  callsInBatches,
  freshness,
  isFresh,
  runnerColumns,
  type CallingRunner,
  type Freshness,
  type HostLogsInput,
  type TakeHostLogs,
  type WorkSettings,
} from '../../engine/work/index.ts';
import { given } from '../../kit/resource/index.ts';
import { MINUTES_DAYS } from './purge.ts';
import type { LogKind } from './schema.ts';

/** Limits of the ring of a log. */
const LINES_KEPT = 5_000;
const BYTES_KEPT = 1_048_576;
/** A call brings one segment of a log, so that the ring shrinks where it is too large. */
const TRIMMED_MAX = 8;

const ITEMS_MAX = 8;
const TOGETHER_BYTES_MAX = 1_048_576;

/** One log of an environment in a call, as the statement has it. */
interface LogRow {
  readonly environment_id: string;
  readonly kind: LogKind;
  readonly seq: number;
  readonly count: number;
  readonly bytes: number;
  readonly dropped: number;
  readonly lines: string;
  readonly minutes: readonly object[];
}

interface Call extends HostLogsInput {
  readonly told: readonly LogRow[];
}

interface Row extends CallingRunner, Freshness {
  readonly id: string | null;
}

export function createTakeHostLogs(sql: SqlTag, settings: WorkSettings): TakeHostLogs {
  const take = callsInBatches<Call, Row>(sql, {
    itemsMax: ITEMS_MAX,
    sizeMax: TOGETHER_BYTES_MAX,
    sizeOf: ({ told }) => told.reduce((sum, { bytes }) => sum + bytes, 0),
    keyOf: ({ runnerId }) => runnerId,
    run: async (calls) => await takeTogether(sql, settings, calls),
  });
  return async (input) => {
    const row = await take({ ...input, told: input.logs.map(rowOf) });
    return row.id === null ? undefined : row;
  };
}

function rowOf({ environmentId, kind, seq, lines, dropped, minutes }: HostLogsInput['logs'][number]): LogRow {
  const text = JSON.stringify(lines.map(storedLine));
  return {
    environment_id: environmentId,
    kind,
    seq,
    count: lines.length,
    bytes: Buffer.byteLength(text),
    dropped,
    lines: text,
    minutes: minutes.map(storedMinute),
  };
}

/** A runner has done so already; terminals show these texts, whoever sent them. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const storedLine = (line: NginxLogLine): object =>
  Object.fromEntries(
    Object.entries(given(NginxLogLineSchema, line)).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replace(UNPRINTABLE, '\ufffd') : value,
    ]),
  );

function storedMinute({
  minute,
  requests,
  s2xx,
  s3xx,
  s4xx,
  s5xx,
  p50Ms,
  p95Ms,
  bytes,
}: NginxMinute): object {
  const classes = { s2xx, s3xx, s4xx, s5xx };
  const at = minute && timestampDate(minute);
  return { minute: at, requests, ...classes, p50_ms: p50Ms, p95_ms: p95Ms, bytes: Math.round(bytes) };
}

async function takeTogether(
  sql: SqlTag,
  settings: WorkSettings,
  calls: readonly Call[],
): Promise<readonly Row[]> {
  const columns = ({ runnerId, bootId }: Call) => ({ runner_id: runnerId, boot_id: bootId });
  const types = sql`runner_id text, boot_id text`;
  const told = calls.flatMap((call, n) => call.told.map((each) => ({ n, ...each })));
  const toldTypes = sql`n int, environment_id text, kind text, seq bigint, count int, bytes int, dropped bigint, lines text, minutes json`;
  const counters = sql`requests bigint, s2xx bigint, s3xx bigint, s4xx bigint, s5xx bigint, p50_ms bigint, p95_ms bigint, bytes bigint`;
  return await sql<Row[]>`
    with ${asked(sql, calls, { columns, types })},
    me as materialized (
      select a.n, ${runnerColumns(sql, settings)} from asked a join runners r on r.id = a.runner_id where ${isFresh(sql)}
    ),
    told as materialized (
      select distinct on (t.environment_id, t.kind) t.*, h.team_id, h.runner_id
      from (${fewRows(sql, told, toldTypes)}) t
        join me on me.n = t.n and me.current join host_apps h on h.environment_id = t.environment_id and h.runner_id = me.id
      order by t.environment_id, t.kind
    ),
    before as materialized (
      -- Rows are locked in one order, because two calls of a runner may come at once.
      select l.environment_id, l.kind, l.dropped from edge_logs l join told t on t.environment_id = l.environment_id and t.kind = l.kind
      order by l.environment_id, l.kind for no key update of l
    ),
    behind as (
      insert into edge_logs as l (environment_id, kind, team_id, runner_id, seq, lines, bytes, dropped)
      select t.environment_id, t.kind, t.team_id, t.runner_id, t.seq, t.count, case when t.count > 0 then t.bytes else 0 end, t.dropped
      from told t left join before b on b.environment_id = t.environment_id and b.kind = t.kind
      where t.count > 0 or t.dropped > 0
      order by t.environment_id, t.kind
      on conflict (environment_id, kind) do update set
        runner_id = excluded.runner_id, seq = excluded.seq, lines = l.lines + excluded.lines, bytes = l.bytes + excluded.bytes,
        dropped = case when excluded.lines > 0 then 0 else l.dropped + excluded.dropped end
      where l.runner_id <> excluded.runner_id or l.seq < excluded.seq
      returning l.environment_id, l.kind, l.lines, l.bytes
    ),
    stored as (
      insert into edge_log_segments (environment_id, kind, position, count, bytes_until, dropped, lines)
      select t.environment_id, t.kind, l.lines - t.count, t.count, l.bytes, t.dropped + coalesce(b.dropped, 0), t.lines::json
      from behind l join told t on t.environment_id = l.environment_id and t.kind = l.kind
        left join before b on b.environment_id = l.environment_id and b.kind = l.kind
      where t.count > 0
    ),
    trimmed as (
      delete from edge_log_segments s using behind l cross join lateral (
        select o.position, o.count, o.bytes_until from edge_log_segments o
        where o.environment_id = l.environment_id and o.kind = l.kind order by o.position limit ${TRIMMED_MAX}::int
      ) o
      where s.environment_id = l.environment_id and s.kind = l.kind and s.position = o.position
        and (o.position + o.count <= l.lines - ${LINES_KEPT}::int or o.bytes_until <= l.bytes - ${BYTES_KEPT}::int)
    ),
    counted as (
      insert into edge_minutes as m (environment_id, team_id, minute, requests, s2xx, s3xx, s4xx, s5xx, p50_ms, p95_ms, bytes)
      select distinct on (t.environment_id, minute) t.environment_id, t.team_id, date_trunc('minute', c.minute, 'UTC') as minute,
        c.requests, c.s2xx, c.s3xx, c.s4xx, c.s5xx, c.p50_ms, c.p95_ms, c.bytes
      from told t cross join lateral json_to_recordset(t.minutes) as c(minute timestamptz, ${counters})
      -- What a purge would take at once, or never, is not kept.
      where c.minute between clock_timestamp() - ${MINUTES_DAYS}::int * interval '1 day' and clock_timestamp() + interval '5 minutes'
      order by t.environment_id, minute, c.requests desc
      on conflict (environment_id, minute) do update set
        requests = excluded.requests, s2xx = excluded.s2xx, s3xx = excluded.s3xx, s4xx = excluded.s4xx, s5xx = excluded.s5xx,
        p50_ms = excluded.p50_ms, p95_ms = excluded.p95_ms, bytes = excluded.bytes
      where excluded.requests >= m.requests
    )
    select ${freshness(sql)}, me.* from asked a left join me on me.n = a.n order by a.n`;
}
