/** Reads lines and counters of one environment. */
import { notFound } from '../../kit/not-found.ts';
import type { Database } from '../../base/db/index.ts';
import type { TeamScope } from '../../kit/context.ts';
import { hasEdge, type Place } from '../domains/index.ts';
import type { LogKind, StoredLine } from './schema.ts';

/** As much as a call of a runner brings: a segment that reaches over a position begins so near to it. */
const SEGMENT_LINES_MAX = 200;

export interface Source extends Pick<Place, 'kind' | 'target' | 'runnerId' | 'hasEdge'> {
  /** Lines of the log that came so far. */
  readonly lines: number;
  /** Position of the oldest one that is held; null where none is. */
  readonly oldest: number | null;
}

export interface Segment {
  readonly position: number;
  readonly count: number;
  readonly dropped: number;
  readonly lines: readonly StoredLine[];
}

export interface Minute {
  readonly minute: Date;
  readonly requests: number;
  readonly s2xx: number;
  readonly s3xx: number;
  readonly s4xx: number;
  readonly s5xx: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly bytes: number;
}

export async function readSource(
  { sql }: Database,
  scope: TeamScope,
  { environmentId, kind }: { readonly environmentId: string; readonly kind: LogKind },
): Promise<Source> {
  const [source] = await sql<Source[]>`
    select e.deploy ->> 'kind' as target, h.kind, h.runner_id as "runnerId", ${hasEdge(sql)} as "hasEdge", coalesce(l.lines, 0) as lines,
      (select s.position from edge_log_segments s where s.environment_id = l.environment_id and s.kind = l.kind order by s.position limit 1) as oldest
    from environments e
    left join host_apps h on h.environment_id = e.id left join runners u on u.id = h.runner_id
    left join edge_logs l on l.environment_id = e.id and l.kind = ${kind}
    where e.team_id = any(${[...scope.teamIds]}::text[]) and e.id = ${environmentId}`;
  if (source === undefined) throw notFound('environment');
  return source;
}

/** Segments that hold lines behind a position, of so many lines, oldest first. */
export async function readSegments(
  { sql }: Database,
  scope: TeamScope,
  of: {
    readonly environmentId: string;
    readonly kind: LogKind;
    readonly from: number;
    readonly lines: number;
  },
): Promise<readonly Segment[]> {
  const { environmentId, kind, from, lines } = of;
  return await sql<Segment[]>`
    select s.position, s.count, s.dropped, s.lines from edge_log_segments s
    join edge_logs l on l.environment_id = s.environment_id and l.kind = s.kind
    where l.team_id = any(${[...scope.teamIds]}::text[]) and s.environment_id = ${environmentId} and s.kind = ${kind}
      and s.position > ${from - SEGMENT_LINES_MAX}::bigint and s.position < ${from + lines}::bigint and s.position + s.count > ${from}::bigint
    order by s.position`;
}

export async function readMinutes(
  { sql }: Database,
  scope: TeamScope,
  { environmentId, minutes }: { readonly environmentId: string; readonly minutes: number },
): Promise<readonly Minute[]> {
  return await sql<Minute[]>`
    select m.minute, m.requests, m.s2xx, m.s3xx, m.s4xx, m.s5xx, m.p50_ms as "p50Ms", m.p95_ms as "p95Ms", m.bytes from edge_minutes m
    where m.team_id = any(${[...scope.teamIds]}::text[]) and m.environment_id = ${environmentId}
      and m.minute > clock_timestamp() - ${minutes}::int * interval '1 minute'
    order by m.minute`;
}
