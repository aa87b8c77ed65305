/** The tests of the contract send these requests, one for each RPC. */
import { environment, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const hosted = ({ hostedId }: World) => ({ environmentId: hostedId });

const what = 'data of what is deployed';
const databaseType = 'postgres';

export const requests: Requests = {
  'svc.databases.v1.DatabaseService/Create': {
    gives: 'nothing',
    fields: (world) => ({ ...hosted(world), databaseType }),
    guards: { what, attempts: (world) => [{ ...environment(world), databaseType }] },
  },
  'svc.databases.v1.DatabaseService/Delete': {
    gives: 'nothing',
    fields: hosted,
    last: 1,
    guards: { what },
  },
  'svc.databases.v1.DatabaseService/Get': { gives: 'nothing', fields: hosted },
  'svc.databases.v1.TestDatabaseService/Create': {
    gives: 'nothing',
    fields: (world) => ({ ...hosted(world), databaseType }),
    guards: { what, attempts: (world) => [{ ...environment(world), databaseType }] },
  },
  'svc.databases.v1.TestDatabaseService/Delete': {
    gives: 'nothing',
    fields: hosted,
    last: 1,
    guards: { what },
  },
  'svc.databases.v1.TestDatabaseService/Get': { gives: 'nothing', fields: hosted },
};
