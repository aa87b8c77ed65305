/** The tests of the contract send these requests, one for each RPC. */
import { environment, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const step = ({ environmentId, stepId }: World) => ({ environmentId, stepId });

const guards = { what: 'commands of what is built' };

export const requests: Requests = {
  'svc.buildsteps.v1.BuildStepsService/Add': {
    gives: 'nothing',
    fields: (world) => ({ ...environment(world), command: 'true' }),
    guards,
  },
  'svc.buildsteps.v1.BuildStepsService/Delete': { gives: 'nothing', fields: step, last: 1, guards },
  'svc.buildsteps.v1.BuildStepsService/List': { gives: 'nothing', fields: environment },
  'svc.buildsteps.v1.BuildStepsService/Move': {
    gives: 'nothing',
    fields: (world) => ({ ...step(world), direction: 'up' }),
    guards,
  },
};
