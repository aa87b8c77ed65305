/** The tests of the contract send these requests, one for each RPC. */
import { once, team, type Requests } from '../../../test/contract/requests.ts';

const group = once(async ({ sql, teamId }) => {
  const groupId = 'grp_00000000000000000000000001';
  await sql`
    insert into runner_groups (id, team_id, name, labels, created_at) values (${groupId}, ${teamId}, 'matrix', '{}', now())`;
  return { teamId, groupId };
});

export const requests: Requests = {
  'svc.runnergroups.v1.RunnerGroupsService/Create': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, name: 'by-matrix', labels: { gpu: 'a100' } }),
  },
  'svc.runnergroups.v1.RunnerGroupsService/Delete': { gives: 'nothing', fields: group, last: 1 },
  'svc.runnergroups.v1.RunnerGroupsService/Get': { gives: 'nothing', fields: group },
  'svc.runnergroups.v1.RunnerGroupsService/List': { gives: 'nothing', fields: team },
  'svc.runnergroups.v1.RunnerGroupsService/Update': {
    gives: 'nothing',
    fields: async (world) => ({ ...(await group(world)), maxRunning: 3 }),
  },
};
