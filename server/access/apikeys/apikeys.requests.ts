/** Valid requests of each RPC, for the tests of the contract. */
import { nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.apikeys.v1.ApiKeysService/Create': {
    guards: 'nothing',
    fields: () => ({ name: 'made by the matrix', scopes: ['ci:read'] }),
  },
  'svc.apikeys.v1.ApiKeysService/List': { fields: nothing },
  'svc.apikeys.v1.ApiKeysService/Revoke': {
    guards: 'nothing',
    fields: () => ({ apiKeyId: 'key_missing' }),
    status: 404,
  },
};
