/**
 * One heartbeat: renews every lease that the runner holds, turns accepted offers into leases, stores the phases of builds and notes what the runner
 * says of itself, all in one statement: a lease is `ok` only together with its phase. The rows are locked in the order runner, then items by id, as `revoke` does, so that the two never wait for
 * each other in a circle.
 */
import type { SqlTag } from '../../platform/db/index.ts';
import type { WorkSettings } from './settings.ts';
import { enterPhases } from './build-sql.ts';
import { callingRunner, contact, renewal } from './sql.ts';
import type { CallingRunner, RunnerRef } from './sql.ts';

export interface Held {
  readonly id: string;
  readonly epoch: number;
}

/** A lease as its runner reports it. */
export interface Told extends Held {
  /** Builds only: the phase that it is in or about to enter; see phases.ts. */
  readonly phase?: number;
  /** Bytes of output that were written before the phase; absent: as many as are stored. */
  readonly phaseOffset?: number;
}

/** `ok`: renewed. `cancelled`: stop it and report. `superseded`: not (any more) this runner's. */
export type LeaseStatus = 'ok' | 'cancelled' | 'superseded';

export interface HeartbeatInput extends RunnerRef {
  readonly leases: readonly Told[];
  readonly draining: boolean;
  readonly diagnostics?: {
    readonly containerCliVersion: string;
    readonly deployCliVersion: string;
    readonly workspaceFreeMb: number;
  };
  readonly facts?: {
    readonly version: string;
    readonly os: string;
    readonly arch: string;
    readonly isolation: string;
    readonly executor: string;
  };
  readonly labels?: Readonly<Record<string, string>>;
}

export interface HeartbeatOutcome extends CallingRunner {
  /** In the order of the request. */
  readonly leases: ReadonlyArray<Held & { readonly status: LeaseStatus }>;
}

interface Row extends CallingRunner {
  /** `<id> <epoch>` of what was renewed, and of what was found cancelled. */
  readonly renewed: string[];
  readonly cancelled: string[];
}

/** Undefined: there is no such runner. When `current` is false nothing was changed. */
export async function heartbeat(
  sql: SqlTag,
  settings: WorkSettings,
  input: HeartbeatInput,
): Promise<HeartbeatOutcome | undefined> {
  const { runnerId, leases } = input;
  const facts = input.facts ?? null;
  const diagnostics = input.diagnostics ?? null;
  // Most heartbeats report no phase, and need not pay for it. A run has none, whatever its runner reports.
  const reportsPhases = leases.some(({ phase = 0 }) => phase > 0);
  const phaseColumns = reportsPhases
    ? sql`, w.team_id, w.phase as was,
        case w.kind when 'build' then (select max(a.phase) from asked a where a.id = w.id and a.epoch = w.epoch) else 0 end as reported,
        coalesce((select max(a.phase_offset) from asked a where a.id = w.id and a.epoch = w.epoch), w.log_offset) as phase_offset`
    : sql``;
  const [row] = await sql<Row[]>`
    with me as materialized (${callingRunner(sql, settings, { runner: input, rest: sql`for no key update` })}),
    asked as (
      select * from unnest(${leases.map((l) => l.id)}::text[], ${leases.map((l) => l.epoch)}::bigint[], ${leases.map((l) => l.phase ?? 0)}::int[], ${leases.map((l) => l.phaseOffset ?? null)}::bigint[]) a(id, epoch, phase, phase_offset)
    ),
    held as materialized (
      select w.id, w.epoch, w.cancel_requested_at is not null as cancel${phaseColumns}
      from work_items w
      where (w.id, w.epoch) in (select a.id, a.epoch from asked a) and w.runner_id = ${runnerId} and w.lease_id is not null
        and w.state in ('offered', 'running') and w.lease_expires_at > clock_timestamp() and (select current from me)
      order by w.id for no key update of w
    ),
    renewed as (
      update work_items w set ${renewal(sql, settings)}${reportsPhases ? sql`, phase = greatest(w.phase, h.reported)` : sql``}
      from held h where w.id = h.id and not h.cancel
      returning w.id, w.epoch
    ),
    contacted as (
      update work_leases x set ${contact(sql)}
      from held h where x.work_id = h.id and x.epoch = h.epoch
    ),
    ${reportsPhases ? sql`${enterPhases(sql)},` : sql``}
    noted as (
      update runners r set
        last_heartbeat_at = now(), last_seen_at = now(), draining = ${input.draining}::boolean,
        diagnostics = coalesce(${diagnostics === null ? null : sql.json(diagnostics)}::jsonb || jsonb_build_object('at', now()), r.diagnostics),
        diagnostics_requested_at = case when ${diagnostics !== null}::boolean then null else r.diagnostics_requested_at end,
        version = coalesce(${facts?.version ?? null}::text, r.version),
        os = coalesce(${facts?.os ?? null}::text, r.os),
        arch = coalesce(${facts?.arch ?? null}::text, r.arch),
        isolation = coalesce(${facts?.isolation ?? null}::text, r.isolation),
        executor = coalesce(${facts?.executor ?? null}::text, r.executor),
        labels = coalesce(${input.labels === undefined ? null : sql.json(input.labels)}::jsonb, r.labels)
      from me where r.id = me.id and me.current
    )
    select me.*,
      coalesce((select array_agg(id || ' ' || epoch) from renewed), '{}') as renewed,
      coalesce((select array_agg(id || ' ' || epoch) from held where cancel), '{}') as cancelled
    from me`;
  if (row === undefined) return undefined;
  const renewed = new Set(row.renewed);
  const cancelled = new Set(row.cancelled);
  const statusOf = ({ id, epoch }: Held): LeaseStatus => {
    if (cancelled.has(`${id} ${epoch}`)) return 'cancelled';
    return renewed.has(`${id} ${epoch}`) ? 'ok' : 'superseded';
  };
  return { ...row, leases: leases.map((lease) => ({ status: statusOf(lease), ...lease })) };
}
