/**
 * Runners say here what they host and are told what they should. One statement writes what a runner has seen
 * and carried out, and reads the documents that are newer than its own. A runner that says something of an
 * environment that is not on its machine, or of a revision that never was, changes nothing.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { addedBy, appOnHost, type HostPart } from '../../apps/hosting/index.ts';
import { fewRows } from '../../base/sql.ts';
import { asked, callsInBatches, freshness, isFresh, type Freshness, type Signed } from './nonces.ts';
import type { WorkSettings } from './settings.ts';
import { runnerColumns, type CallingRunner, type RunnerRef } from './sql.ts';

/** They bound an answer, with what a document holds at most. */
const APPS_MAX = 200;
const BYTES_MAX = 262_144;
const TOMBSTONES_MAX = 200;

export interface SyncHostInput extends RunnerRef, Signed {
  /** Revisions of the documents that the runner has, by environment. */
  readonly have: Readonly<Record<string, number>>;
  /** ObservedApp of the contract. */
  readonly observed: ReadonlyArray<{ readonly environmentId?: string; readonly revision: number }>;
  /** Tombstones that were carried out. */
  readonly removed: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

export interface SyncHostOutcome extends CallingRunner {
  readonly revision: number;
  /** They are in the JSON of the contract. */
  readonly apps: readonly Json[];
  readonly tombstones: readonly Json[];
  readonly more: boolean;
}

/** It is undefined when there is no such runner. When `current` is false, nothing was changed. */
export type SyncHost = (input: SyncHostInput) => Promise<SyncHostOutcome | undefined>;

interface Row extends CallingRunner, Freshness {
  readonly id: string | null;
  readonly team_id: string;
  readonly revision: number;
  readonly apps: ReadonlyArray<Json & { readonly app: string; readonly teamId: string }>;
  readonly tombstones: ReadonlyArray<Json & { readonly app: string; readonly teamId: string }>;
}

/** `parts` is asked when all features have started. */
export function createSyncHost(
  sql: SqlTag,
  settings: WorkSettings,
  parts: () => readonly HostPart[],
): SyncHost {
  const sync = callsInBatches<SyncHostInput, Row>(sql, {
    // A statement should not read more than what one runner hosts.
    itemsMax: 1,
    keyOf: ({ runnerId }) => runnerId,
    run: async ([input]) => (input === undefined ? [] : [await syncOne(sql, settings, { input, parts })]),
  });
  return async (input) => {
    const row = await sync(input);
    if (row.id === null) return undefined;
    const named = ({ app, teamId, ...rest }: Row['apps'][number]): Json => ({
      ...rest,
      app: appOnHost(app, teamId, teamId !== row.team_id),
    });
    const apps = fitting(row.apps.map(named));
    const more = apps.length < row.apps.length || apps.length === APPS_MAX;
    return { ...row, apps, tombstones: row.tombstones.map(named), more };
  };
}

/** The first is sent however long it is: a document is bounded by the limits of its parts. */
function fitting(apps: readonly Json[]): readonly Json[] {
  let bytes = 0;
  const end = apps.findIndex((app, at) => (bytes += JSON.stringify(app).length) > BYTES_MAX && at > 0);
  return end === -1 ? apps : apps.slice(0, end);
}

async function syncOne(
  sql: SqlTag,
  settings: WorkSettings,
  { input, parts }: { readonly input: SyncHostInput; readonly parts: () => readonly HostPart[] },
): Promise<Row> {
  const columns = ({ runnerId, bootId, have, removed }: SyncHostInput) => ({
    runner_id: runnerId,
    boot_id: bootId,
    have,
    removed,
  });
  const types = sql`runner_id text, boot_id text, have jsonb, removed text[]`;
  const seen = input.observed.map(({ environmentId, revision, ...observed }) => ({
    environment_id: environmentId,
    revision,
    observed: { ...observed, revision },
  }));
  const notes = parts().reduce(
    (all, { note }) => (note === undefined ? all : sql`${all}${note(sql)},`),
    sql``,
  );
  const [row] = await sql<Row[]>`
    with ${asked(sql, [input], { columns, types })},
    me as materialized (
      select a.n, a.have, a.removed, ${runnerColumns(sql, settings)}
      from asked a join runners r on r.id = a.runner_id where ${isFresh(sql)}
    ),
    seen as materialized (
      -- Rows are locked in one order, because two calls of a runner may come at once.
      select h.environment_id, t.observed
      from (${fewRows(sql, seen, sql`environment_id text, revision bigint, observed jsonb`)}) t
      join me on me.current join host_apps h on h.environment_id = t.environment_id and h.runner_id = me.id and t.revision <= h.revision
      order by h.environment_id for no key update of h
    ),
    noted as (
      update host_apps h set observed = s.observed - '{domains,mounts,databases}'::text[], observed_at = clock_timestamp() from seen s where h.environment_id = s.environment_id
    ),
    ${notes}
    removed as (
      update host_tombstones t set removed_at = clock_timestamp() from me
      where me.current and t.runner_id = me.id and t.id = any(me.removed) and t.removed_at is null
    )
    select ${freshness(sql)}, me.*, coalesce((select v.revision from host_revisions v where v.runner_id = me.id), 0) as revision,
      coalesce((
        select jsonb_agg(d.document order by d.environment_id)
        from (
          select h.environment_id, ${addedBy(sql, parts())} || jsonb_build_object('environmentId', h.environment_id, 'revision', h.revision, 'kind', h.kind, 'app', h.app,
            'teamId', h.team_id, 'containerPort', h.container_port) as document
          from host_apps h where me.current and h.runner_id = me.id and (me.have ->> h.environment_id)::bigint is distinct from h.revision
          order by h.environment_id limit ${APPS_MAX}::int
        ) d
      ), '[]') as apps,
      coalesce((
        select jsonb_agg(jsonb_build_object('id', d.id, 'environmentId', d.environment_id, 'kind', d.kind, 'app', d.app, 'volume', d.volume, 'teamId', d.team_id) order by d.id)
        from (
          select * from host_tombstones t where me.current and t.runner_id = me.id and t.removed_at is null and t.due_at <= clock_timestamp() and not t.id = any(me.removed)
          order by t.id limit ${TOMBSTONES_MAX}::int
        ) d
      ), '[]') as tombstones
    from asked a left join me on me.n = a.n`;
  if (row === undefined) throw new Error('the statement of a call returned no row');
  return row;
}
