/** The tests of the contract send these requests, one for each RPC. */
import { environment, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const hosted = ({ hostedId }: World) => ({ environmentId: hostedId });

const what = 'data of what is deployed';
const uploads = { hostPath: 'uploads', containerPath: '/srv/uploads' };

export const requests: Requests = {
  'svc.storage.v1.StorageService/Create': {
    gives: 'nothing',
    fields: (world) => ({ ...hosted(world), ...uploads }),
    guards: { what, attempts: (world) => [{ ...environment(world), ...uploads }] },
  },
  'svc.storage.v1.StorageService/Delete': {
    gives: 'nothing',
    fields: (world) => ({ ...hosted(world), storageMountId: world.storageMountId }),
    last: 1,
    guards: { what },
  },
  'svc.storage.v1.StorageService/List': { gives: 'nothing', fields: hosted },
};
