/** The tests of the contract send these requests, one for each RPC. */
import { team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const runner = ({ teamId, runnerId }: World) => ({ teamId, runnerId });

export const requests: Requests = {
  'svc.runners.v1.RunnersService/ClearDivergenceFlag': { gives: 'nothing', fields: runner },
  'svc.runners.v1.RunnersService/CreateEnrollToken': {
    gives: {
      what: 'an enrollment token',
      bound:
        'runner:manage; ends after 15 minutes, with the key that issued it, and with the role of its person',
      attempts: ({ teamId }) => [{ teamId }],
    },
    fields: team,
  },
  'svc.runners.v1.RunnersService/Diagnose': { gives: 'nothing', fields: team },
  'svc.runners.v1.RunnersService/Get': { gives: 'nothing', fields: runner },
  'svc.runners.v1.RunnersService/GetHealth': { gives: 'nothing', fields: team },
  'svc.runners.v1.RunnersService/List': { gives: 'nothing', fields: team },
  'svc.runners.v1.RunnersService/ListHistory': { gives: 'nothing', fields: runner },
  'svc.runners.v1.RunnersService/Pause': { gives: 'nothing', fields: runner },
  'svc.runners.v1.RunnersService/RequestDiagnostics': { gives: 'nothing', fields: runner },
  'svc.runners.v1.RunnersService/Resume': { gives: 'nothing', fields: runner },
  'svc.runners.v1.RunnersService/Revoke': { gives: 'nothing', fields: runner, last: 1 },
  'svc.runners.v1.RunnersService/Update': {
    gives: 'nothing',
    fields: (world) => ({ ...runner(world), labels: { rack: '7' } }),
  },
  'svc.runners.v1.RunnersService/Watch': { gives: 'nothing', fields: team },
};
