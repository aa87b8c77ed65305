/** The tests of the contract send these requests, one for each RPC. */
import { team, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.teamshares.v1.TeamSharesService/Get': { gives: 'nothing', fields: team },
  'svc.teamshares.v1.TeamSharesService/Set': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, runs: { weight: 3 }, builds: { maxRunning: 20 } }),
  },
};
