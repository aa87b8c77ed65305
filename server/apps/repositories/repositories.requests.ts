/** The tests of the contract send these requests, one for each RPC. */
import { team, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.repositories.v1.RepositoriesService/List': { gives: 'nothing', fields: team },
};
