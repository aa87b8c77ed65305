/** Valid requests of each RPC, for the tests of the contract. */
import { team } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const runner = ({ teamId, runnerId }: World) => ({ teamId, runnerId });

export const requests: Requests = {
  'svc.runners.v1.RunnersService/ClearDivergenceFlag': { fields: runner },
  'svc.runners.v1.RunnersService/CreateEnrollToken': { fields: team },
  'svc.runners.v1.RunnersService/Diagnose': { fields: team },
  'svc.runners.v1.RunnersService/Get': { fields: runner },
  'svc.runners.v1.RunnersService/GetHealth': { fields: team },
  'svc.runners.v1.RunnersService/List': { fields: team },
  'svc.runners.v1.RunnersService/ListHistory': { fields: runner },
  'svc.runners.v1.RunnersService/Pause': { fields: runner },
  'svc.runners.v1.RunnersService/RequestDiagnostics': { fields: runner },
  'svc.runners.v1.RunnersService/Resume': { fields: runner },
  'svc.runners.v1.RunnersService/Revoke': { fields: runner, last: true },
  'svc.runners.v1.RunnersService/Update': {
    fields: (world) => ({ ...runner(world), labels: { rack: '7' } }),
  },
  'svc.runners.v1.RunnersService/Watch': { fields: team },
};
