/** Staff assign a region to a team, and the team's waiting work follows its operator. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { AdminTeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { PLATFORM_CHAIN, recordAct } from '../../platform/ledger/index.ts';
import type { Ctx } from '../../platform/context.ts';
import { notFound } from '../../platform/not-found.ts';

import { findTeam, lockTeam, showTeam, setTeamRegion } from '../../access/teams/index.ts';
import type { TeamWork } from '../../access/teams/index.ts';
import { getRegion } from './store.ts';

export function createAdminTeams({ work }: { readonly work: TeamWork }): Handlers<Ctx> {
  return implement(AdminTeamsService, {
    setRegion: async ({ teamId, regionId }, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        if (!(await lockTeam(db, teamId))) throw notFound('team');
        const region = await getRegion(db, regionId);
        const before = await findTeam(db, teamId);
        await setTeamRegion(db, teamId, region.id);
        await work.reroute(db, { id: teamId, operator: region.operator });
        const team = await findTeam(db, teamId);
        if (before === undefined || team === undefined) throw notFound('team');
        if (before.regionId !== team.regionId) {
          const details = { from: before.regionId, to: team.regionId, operator: team.operator };
          const act = { action: 'team.region_assigned', target: teamId, details };
          await recordAct(db, ctx, { ...act, chain: teamId });
          await recordAct(db, ctx, { ...act, chain: PLATFORM_CHAIN }); // staff acts stand there too
        }
        return showTeam(team, ctx.teams.role(teamId));
      }),
  });
}
