/** Valid requests of each RPC, for the tests of the contract. */
import { team } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.teamshares.v1.TeamSharesService/Get': { fields: team },
  'svc.teamshares.v1.TeamSharesService/Set': {
    fields: ({ teamId }) => ({ teamId, runs: { weight: 3 }, builds: { maxRunning: 20 } }),
  },
};
