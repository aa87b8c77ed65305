/** The tests of the contract send these requests, one for each RPC. */
import type { Requests } from '../../../test/contract/requests.ts';
import { ciConnection, ofConnection } from '../connections/connections.requests.ts';

export const requests: Requests = {
  'svc.ci.v1.CiService/ExchangeIdToken': {
    gives: {
      what: 'a token of one CI run',
      bound:
        'what the id_token could do itself, for as long as it lives and an hour at most; ends with the connection',
      story: 'server/connect/identity/attacks.api.test.ts',
    },
    guards: 'nothing',
    fields: ({ ciConnectionId }) => ({ ciConnectionId, idToken: 'no.id.token' }),
    status: 401,
    as: 'nobody',
  },
  'svc.ci.v1.CiService/ResetOidcPin': {
    gives: {
      what: 'the next pin of the connection',
      bound: ofConnection,
      story: 'server/connect/identity/attacks.api.test.ts',
    },
    fields: ciConnection,
  },
};
