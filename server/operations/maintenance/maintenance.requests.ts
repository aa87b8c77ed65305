/** Gives a valid request of each RPC to the tests of the contract. */
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const repository = ({ teamId }: World) => ({ teamId, repositoryId: 'github.com/acme/app' });

export const requests: Requests = {
  'svc.maintenance.v1.MaintenanceService/ListTasks': { gives: 'nothing', fields: repository },
  'svc.maintenance.v1.MaintenanceService/TriggerRun': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({
      ...repository(world),
      category: 'dependencies',
      proposal: 'keep them fresh',
      estimatedCostCents: 0,
    }),
  },
  'svc.maintenance.v1.MaintenanceService/UpdateSettings': {
    gives: 'nothing',
    fields: (world) => ({ ...repository(world), category: 'dependencies', enabled: true }),
  },
};
