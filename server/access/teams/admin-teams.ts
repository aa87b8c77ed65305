/** Staff say which region a team's work goes to. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { AdminTeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { regionOf } from '../../engine/regions/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import type { TeamsDeps } from './acts.ts';
import { showTeam } from './present.ts';
import { findTeam, lockTeam, updateTeam } from './store.ts';

export function createAdminTeams({ work }: Pick<TeamsDeps, 'work'>): Handlers<Ctx> {
  return implement(AdminTeamsService, {
    setRegion: async ({ teamId, regionId }, ctx: Ctx) =>
      await ctx.db.transact(async (db) => {
        await lockTeam(db, teamId);
        const before = await findTeam(db, teamId);
        if (before === undefined) throw notFound('team');
        const { id, operator } = await regionOf(db, regionId);
        await updateTeam(db, teamId, { regionId: id });
        // Waiting work of the team follows its operator.
        await work().reroute(db, { id: teamId, operator });
        if (before.regionId !== id) {
          const details = { from: before.regionId, to: id, operator };
          const act = { action: 'team.region_assigned', target: teamId, details };
          await recordAct(db, ctx, { ...act, chain: teamId });
          await recordAct(db, ctx, { ...act, chain: PLATFORM_CHAIN }); // Acts of staff stand there too.
        }
        return showTeam({ ...before, regionId: id, operator }, ctx.teams.role(teamId));
      }),
  });
}
