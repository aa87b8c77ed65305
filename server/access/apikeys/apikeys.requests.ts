/** The tests of the contract send these requests, one for each RPC. */
import { ATTEMPT, nothing, type Requests } from '../../../test/contract/requests.ts';
import { KEY_SCOPE, STAFF_SCOPE, TEAM_SCOPES } from '../../kit/scopes.ts';

export const requests: Requests = {
  'svc.apikeys.v1.ApiKeysService/Create': {
    gives: {
      what: 'an API key',
      bound: 'no more scopes, teams or time than the key that makes it, and it ends with that key',
      attempts: ({ teamId }) => [
        { name: ATTEMPT, expiresInDays: 365 },
        { name: ATTEMPT, teamId, expiresInDays: 365 },
        ...[...TEAM_SCOPES, KEY_SCOPE, STAFF_SCOPE].map((scope) => ({ name: ATTEMPT, scopes: [scope] })),
      ],
    },
    guards: 'nothing',
    fields: () => ({ name: 'made by the matrix', scopes: ['ci:read'] }),
  },
  'svc.apikeys.v1.ApiKeysService/List': { gives: 'nothing', fields: nothing },
  'svc.apikeys.v1.ApiKeysService/Revoke': {
    gives: 'nothing',
    guards: 'nothing',
    fields: () => ({ apiKeyId: 'key_missing' }),
    status: 404,
  },
};
