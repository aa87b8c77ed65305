/** What staff may do to any team. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { AdminTeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Ctx } from '../platform/context.ts';
import { notFound } from '../platform/not-found.ts';
import { getRegion } from '../regions/index.ts';
import { presentTeam } from './present.ts';
import { findTeam, lockTeam, setTeamRegion } from './store.ts';
import type { TeamWork } from './teams-service.ts';

export function createAdminTeams({ work }: { readonly work: TeamWork }): Handlers<Ctx> {
  return implement(AdminTeamsService, {
    setRegion: async ({ teamId, regionId }, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        if (!(await lockTeam(db, teamId))) throw notFound('team');
        const region = await getRegion(db, regionId);
        await setTeamRegion(db, teamId, region.id);
        await work.reroute(db, { id: teamId, operator: region.operator });
        const team = await findTeam(db, teamId);
        if (team === undefined) throw notFound('team');
        return presentTeam(team, ctx.teams.role(teamId));
      }),
  });
}
