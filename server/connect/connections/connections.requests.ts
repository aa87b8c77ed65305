/** The tests of the contract send these requests, one for each RPC. */
import { team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

export const ciConnection = ({ ciConnectionId }: World) => ({ connectionId: ciConnectionId });

export const ofConnection =
  'reports runs of one repository and nothing else; the scope ci:manage includes it; it belongs to the connection and ends with it';

export const requests: Requests = {
  'svc.ci.v1.CiService/CreateConnection': {
    gives: {
      what: 'a connection whose jobs may report',
      bound: ofConnection,
      story: 'server/connect/identity/attacks.api.test.ts',
    },
    fields: (world) => ({
      ...team(world),
      provider: 'gitlab',
      repositoryHost: 'gitlab.com',
      repositoryPath: 'acme/made-by-matrix',
    }),
  },
  'svc.ci.v1.CiService/DeleteConnection': { last: 5, gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/DeleteConnectionToken': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/GetConnection': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListConnections': { gives: 'nothing', fields: team },
  // It needs a connection without a token.
  'svc.ci.v1.CiService/SetConnectionToken': {
    gives: {
      what: 'nobody anything: the token is stored sealed and never shown',
      bound: ofConnection,
      story: 'server/connect/connections/token.api.test.ts',
    },
    fields: (world) => ({
      ...ciConnection(world),
      token: 'a-token',
      forge: 'github',
      apiUrl: 'https://forge.example.com/api',
    }),
  },
  'svc.ci.v1.CiService/UpdateConnection': {
    gives: {
      what: 'other jobs the right to report',
      bound: ofConnection,
      story: 'server/connect/identity/attacks.api.test.ts',
    },
    fields: (world) => ({ ...ciConnection(world), defaultBranch: 'next' }),
  },
};
