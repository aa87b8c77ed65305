/** Statements over registries and builds. */
import { requireTeam } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';

interface RegistryRef {
  readonly teamId: string;
  readonly registryId: string;
}

/**
 * Builds that go by the registry, or may: which one it is, is decided when a runner takes a build. So it is
 * any build of the team that has not ended, while the registry is the default; and when it no longer is,
 * those that were there before it ceased to be. A build with an image counts where that lies, too: a rollback
 * and a deploy that was or is yet to be approved pull from there.
 */
export async function buildsUsing(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, registryId }: RegistryRef,
  take: number,
): Promise<readonly string[]> {
  const rows = await sql<Array<{ id: string }>>`
    select b.id from registries r
    join builds b on b.team_id = r.team_id and b.finished_at is null and (
      r.is_default or b.created_at <= r.default_until
      or starts_with(b.image, case r.namespace when '' then r.host || '/' else r.host || '/' || r.namespace || '/' end))
    where r.id = ${registryId} and r.team_id = ${requireTeam(teams, teamId)}
    order by b.created_at, b.id limit ${take}::int`;
  return rows.map(({ id }) => id);
}
