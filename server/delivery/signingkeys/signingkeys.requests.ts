/** Gives a valid request of each RPC to the tests of the contract. */
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.signingkeys.v1.AdminSigningKeysService/List': { gives: 'nothing', fields: () => ({}) },
  'svc.signingkeys.v1.AdminSigningKeysService/Rotate': {
    gives: 'nothing',
    fields: () => ({ purpose: 'platform', reason: 'the matrix turns every key' }),
  },
  'svc.signingkeys.v1.AdminSigningKeysService/Revoke': {
    gives: 'nothing',
    fields: () => ({ keyId: 'sgk_0', reason: 'nobody has it' }),
    status: 404,
  },
};
