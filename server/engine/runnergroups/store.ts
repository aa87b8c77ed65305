/** The runners of a group, as far as the group's end concerns them. */
import { requireTeam } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';

interface GroupRef {
  readonly teamId: string;
  readonly groupId: string;
}

/** Name of one of its runners that is not revoked. */
export async function memberOf(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, groupId }: GroupRef,
): Promise<string | undefined> {
  const [row] = await sql<Array<{ name: string }>>`
    select name from runners
    where team_id = ${requireTeam(teams, teamId)} and group_id = ${groupId} and revoked_at is null order by name limit 1`;
  return row?.name;
}

/** A revoked runner holds nothing back. */
export async function letGoOfRevoked(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, groupId }: GroupRef,
): Promise<void> {
  await sql`
    update runners set group_id = null
    where team_id = ${requireTeam(teams, teamId)} and group_id = ${groupId} and revoked_at is not null`;
}
