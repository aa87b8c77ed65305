/** Registries in the database. All statements carry the team. */
import type { Database, SqlTag } from '../../platform/db/index.ts';

export interface Registry {
  readonly id: string;
  readonly teamId: string;
  readonly host: string;
  /** Empty: none. */
  readonly namespace: string;
  readonly isDefault: boolean;
  readonly hasCredentials: boolean;
  readonly insecure: boolean;
  readonly createdAt: Date;
}

/** What is stored: the same with the credentials, encrypted. */
export type NewRegistry = Omit<Registry, 'hasCredentials'> & { readonly sealed: string | null };

interface Which {
  readonly teamId: string;
  readonly registryId: string;
}

const columns = (sql: SqlTag) => sql`
  id, team_id as "teamId", host, namespace, is_default as "isDefault", sealed is not null as "hasCredentials", insecure,
  created_at as "createdAt"`;

/** Oldest first. */
export async function listRegistries({ sql }: Database, teamId: string): Promise<readonly Registry[]> {
  return await sql<Registry[]>`
    select ${columns(sql)} from registries where team_id = ${teamId} order by created_at, id`;
}

/** Changes of one team take turns until their transactions end: what is the default is decided by what is there. Rows that refer to the team may be written. */
export async function lockRegistries({ sql }: Database, teamId: string): Promise<{ operator: string }> {
  const [team] = await sql<Array<{ operator: string }>>`
    select g.operator from teams t join regions g on g.id = t.region_id where t.id = ${teamId} for no key update of t`;
  if (team === undefined) throw new Error(`team ${teamId} is gone`);
  return team;
}

/** Undefined: the team has that host and namespace already. The default of before is cleared by whoever calls, in the same transaction. */
export async function insertRegistry({ sql }: Database, r: NewRegistry): Promise<Registry | undefined> {
  const [row] = await sql<Registry[]>`
    insert into registries (id, team_id, host, namespace, is_default, sealed, insecure, created_at)
    values (${r.id}, ${r.teamId}, ${r.host}, ${r.namespace}, ${r.isDefault}, ${r.sealed}, ${r.insecure}, ${r.createdAt})
    on conflict (team_id, host, namespace) do nothing
    returning ${columns(sql)}`;
  return row;
}

/** `now`: by the clock that builds have their times from. */
export async function clearDefault({ sql }: Database, teamId: string, now: Date): Promise<void> {
  await sql`
    update registries set is_default = false, default_until = ${now} where team_id = ${teamId} and is_default`;
}

/** Undefined: there is none. The default of before is cleared by whoever calls, in the same transaction. */
export async function makeDefault(
  { sql }: Database,
  { teamId, registryId }: Which,
): Promise<Registry | undefined> {
  const [row] = await sql<Registry[]>`
    update registries set is_default = true, default_until = null
    where id = ${registryId} and team_id = ${teamId} returning ${columns(sql)}`;
  return row;
}

/**
 * Builds that go by the registry, or may: which one it is, is decided when a runner takes a build. So it is any build of the team that has not ended, while the
 * registry is the default; and when it no longer is, those that were there before it ceased to be. A build with an image counts where that lies, too: a rollback
 * and a deploy that was or is yet to be approved pull from there.
 */
export async function buildsUsing(
  { sql }: Database,
  { teamId, registryId }: Which,
  take: number,
): Promise<readonly string[]> {
  const rows = await sql<Array<{ id: string }>>`
    select b.id from registries r
    join builds b on b.team_id = r.team_id and b.finished_at is null and (
      r.is_default or b.created_at <= r.default_until
      or starts_with(b.image, case r.namespace when '' then r.host || '/' else r.host || '/' || r.namespace || '/' end))
    where r.id = ${registryId} and r.team_id = ${teamId}
    order by b.created_at, b.id limit ${take}::int`;
  return rows.map(({ id }) => id);
}

export async function deleteRegistry(
  { sql }: Database,
  { teamId, registryId }: Which,
): Promise<Registry | undefined> {
  const [row] = await sql<Registry[]>`
    delete from registries where id = ${registryId} and team_id = ${teamId} returning ${columns(sql)}`;
  return row;
}

/** The only one that is left becomes the default. Its id, when one did. */
export async function promoteOnly({ sql }: Database, teamId: string): Promise<string | undefined> {
  const [row] = await sql<Array<{ id: string }>>`
    update registries set is_default = true, default_until = null
    where team_id = ${teamId} and not is_default and (select count(*) from registries where team_id = ${teamId}) = 1
    returning id`;
  return row?.id;
}

export interface Target {
  readonly id: string;
  readonly host: string;
  readonly namespace: string;
  readonly sealed: string | null;
  readonly insecure: boolean;
  readonly isDefault: boolean;
  /** Whose machines execute the team's builds. */
  readonly operator: string;
}

/** The ones that builds may go by. Whose namespace is longer comes first: it says more about an image that lies in several. */
export async function findTargets(sql: SqlTag, teamId: string): Promise<readonly Target[]> {
  return await sql<Target[]>`
    select r.id, r.host, r.namespace, r.sealed, r.insecure, r.is_default as "isDefault", g.operator
    from registries r join teams t on t.id = r.team_id join regions g on g.id = t.region_id
    where r.team_id = ${teamId} order by length(r.namespace) desc, r.id`;
}
