/** Says what runs in the environments of a team. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { requireTeam } from '../../kit/authorise.ts';
import type { Glance, OverviewSource } from '../../kit/overview.ts';
import { whatRuns } from './what-runs.ts';

type CurrentEnvironment = NonNullable<Glance['environments']>[number];

/** What runs in older ones is not looked at. */
const LOOKED_AT = 500;

export const environmentsNow: OverviewSource = {
  scope: 'release:read',
  read: async ({ db: { sql }, teams }, { teamId: team, take }) => {
    const teamId = requireTeam(teams, team);
    const newest = sql`select id from environments where team_id = ${teamId} order by id desc limit ${LOOKED_AT}::int`;
    const environments = await sql<CurrentEnvironment[]>`
      select e.id, e.name, e.project_id as "projectId", p.name as "projectName", n.build_id as "buildId", n.version, n.digest,
        n.address as url, n.deployed_at as since
      from (${whatRuns(sql, teamId, newest)}) n
      join environments e on e.id = n.environment_id and e.team_id = ${teamId}
      join projects p on p.id = e.project_id and p.team_id = ${teamId}
      order by n.deployed_at desc, e.id limit ${take}::int`;
    return { environments };
  },
};
