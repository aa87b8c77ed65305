/** The tests of the contract send these requests, one for each RPC. */
import { environment, team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const build = ({ environmentId, buildId }: World) => ({ environmentId, buildId });

export const requests: Requests = {
  'svc.builds.v1.BuildsService/Cancel': { gives: 'nothing', guards: 'nothing', fields: build },
  'svc.builds.v1.BuildsService/Create': {
    statements: 17,
    gives: 'nothing',
    fields: environment,
    guards: {
      what: 'the runners of its builds',
      attempts: (world) => [{ ...environment(world), runner: { group: 'mine' } }],
    },
  },
  'svc.builds.v1.BuildsService/DeployApproval': {
    gives: 'nothing',
    fields: (world) => ({ ...build(world), decision: 'approve' }),
    status: 409,
  },
  'svc.builds.v1.BuildsService/Get': { gives: 'nothing', fields: build },
  'svc.builds.v1.BuildsService/List': { gives: 'nothing', fields: environment },
  'svc.builds.v1.BuildsService/ListForTeam': { gives: 'nothing', fields: team },
  'svc.builds.v1.BuildsService/Rollback': { gives: 'nothing', guards: 'nothing', fields: build, status: 409 },
  'svc.builds.v1.BuildsService/StreamLogs': {
    statements: 9,
    gives: 'nothing',
    fields: (world) => ({ ...build(world), follow: false }),
  },
  'svc.builds.v1.BuildsService/Trace': { gives: 'nothing', fields: build },
  'svc.builds.v1.BuildsService/Unlock': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({ ...environment(world), force: true }),
  },
};
