/** The only file that knows the tables of the switches. */
import type { SwitchState } from '@svc/proto/features/definition.ts';
import type { SqlTag } from '../base/db/index.ts';
import type { Change } from './change.ts';

/** A switch that somebody has moved. */
export interface StoredSwitch {
  readonly state: SwitchState;
  /** Changes so far. */
  readonly revision: number;
  readonly lastChange: Change;
}

/** All switches at one moment. */
export interface StoredStates {
  /** Grows by one with each change of any switch. */
  readonly revision: number;
  /** Switches that were ever moved; they may have keys that have left the manifest since. */
  readonly switches: ReadonlyMap<string, StoredSwitch>;
}

/** Selects the columns of a `Change` of `platform_feature_changes c`. */
const columnsOf = (sql: SqlTag) => sql`
    c.id, c.at, c.key, c.from_state as "from", c.to_state as "to", c.revision_from as "revisionFrom", c.revision_to as "revisionTo", c.reason,
    json_build_object('kind', c.actor_kind, 'id', c.actor_id, 'display', c.actor_display) as actor, c.source, c.request_id as "requestId", c.affected`;

const noRevision = (): never => {
  throw new Error('platform_feature_revision has no row: the migration that makes it has not run');
};

export async function readRevision(sql: SqlTag): Promise<number> {
  const [row] = await sql<Array<{ revision: number }>>`select revision from platform_feature_revision`;
  return row?.revision ?? noRevision();
}

/** One statement, so that the revision and the switches are of the same moment. */
export async function readStates(sql: SqlTag): Promise<StoredStates> {
  type Row = Change & { installation: number; state: SwitchState; revision: number };
  const rows = await sql<Array<Row & { key: string | null }>>`
    select r.revision as installation, s.state, s.revision, ${columnsOf(sql)}
    from platform_feature_revision r
    left join (platform_feature_states s join platform_feature_changes c on c.id = s.last_change_id) on true`;
  const moved = rows.filter(({ key }) => key !== null);
  return {
    revision: rows[0]?.installation ?? noRevision(),
    switches: new Map(
      moved.map((row) => {
        const { installation: _, state, revision, ...lastChange } = row;
        return [lastChange.key, { state, revision, lastChange }] as const;
      }),
    ),
  };
}

/** Until the transaction ends nobody else moves a switch. Read the states after it. */
export async function lockStates(sql: SqlTag): Promise<void> {
  const locked = await sql`select from platform_feature_revision for update`;
  if (locked.length !== 1) noRevision();
}

export const FEATURES_CHANNEL = 'svc_platform_features';

/** State, history and revision, and the word to the other processes. Returns the states as they are then. */
export async function writeChange(sql: SqlTag, states: StoredStates, change: Change): Promise<StoredStates> {
  const { id, at, key, to, revisionTo, actor } = change;
  const revision = states.revision + 1;
  await sql`
    insert into platform_feature_changes (id, at, key, from_state, to_state, revision_from, revision_to, reason,
      actor_kind, actor_id, actor_display, source, request_id, affected)
    values (${id}, ${at}, ${key}, ${change.from}, ${to}, ${change.revisionFrom}, ${revisionTo}, ${change.reason},
      ${actor.kind}, ${actor.id}, ${actor.display}, ${change.source}, ${change.requestId}, ${JSON.stringify(change.affected)}::jsonb)`;
  await sql`
    insert into platform_feature_states (key, state, revision, last_change_id, updated_at)
    values (${key}, ${to}, ${revisionTo}, ${id}, ${at})
    on conflict (key) do update set state = excluded.state, revision = excluded.revision,
      last_change_id = excluded.last_change_id, updated_at = excluded.updated_at`;
  await sql`update platform_feature_revision set revision = ${revision}`;
  await sql`select pg_notify(${FEATURES_CHANNEL}, ${String(revision)})`;
  return {
    revision,
    switches: new Map(states.switches).set(key, { state: to, revision: revisionTo, lastChange: change }),
  };
}

/** Lists changes, newest first; `before` leaves revisions below this one. */
export async function listChanges(
  sql: SqlTag,
  { key, before, take }: { readonly key: string; readonly before: number | undefined; readonly take: number },
): Promise<readonly Change[]> {
  return await sql<Change[]>`
    select ${columnsOf(sql)} from platform_feature_changes c
    where key = ${key} and (${before ?? null}::int is null or revision_to < ${before ?? null}::int)
    order by revision_to desc limit ${take}`;
}
