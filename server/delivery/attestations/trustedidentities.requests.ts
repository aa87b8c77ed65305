/** Gives a valid request of each RPC to the tests of the contract. */
import { team, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.trustedidentities.v1.TrustedIdentitiesService/List': { gives: 'nothing', fields: team },
  'svc.trustedidentities.v1.TrustedIdentitiesService/Add': {
    gives: 'nothing',
    fields: ({ teamId }) => ({
      teamId,
      name: 'scans',
      issuer: 'https://tokens.example.com',
      identity: 'https://ci.example.com/acme/web/scan.yml@*',
    }),
  },
  'svc.trustedidentities.v1.TrustedIdentitiesService/Remove': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, identityId: 'tid_0' }),
    status: 404,
  },
};
