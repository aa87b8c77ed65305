/** The region that a team's work goes to. */
// No TeamScope: memberships and invitations, which a TeamScope is made of.
import type { Region } from '../../engine/regions/index.ts';
import type { Database } from '../../base/db/index.ts';

export async function regionOfTeam({ sql }: Database, teamId: string): Promise<Region> {
  const [row] = await sql<Region[]>`
    select r.id, r.name, r.operator from teams t join regions r on r.id = t.region_id where t.id = ${teamId}`;
  if (row === undefined) throw new Error(`team ${teamId} is gone`);
  return row;
}
