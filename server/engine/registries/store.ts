/** Statements over registries and builds or teams. */
import type { Database, SqlTag } from '../../platform/db/index.ts';
import type { Operator } from '../../platform/resource/schema.ts';
import type { registries } from './schema.ts';

interface Which {
  readonly teamId: string;
  readonly registryId: string;
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

type Held = Pick<
  typeof registries.$inferSelect,
  'id' | 'host' | 'namespace' | 'sealed' | 'insecure' | 'default'
>;

export interface Target extends Readonly<Held> {
  /** Says whose machines execute the team's builds. */
  readonly operator: Operator;
}

/** The ones that builds may go by. Whose namespace is longer comes first: it says more about an image that lies in several. */
export async function findTargets(sql: SqlTag, teamId: string): Promise<readonly Target[]> {
  return await sql<Target[]>`
    select r.id, r.host, r.namespace, r.sealed, r.insecure, r.is_default as "default", g.operator
    from registries r join teams t on t.id = r.team_id join regions g on g.id = t.region_id
    where r.team_id = ${teamId} order by length(r.namespace) desc, r.id`;
}
