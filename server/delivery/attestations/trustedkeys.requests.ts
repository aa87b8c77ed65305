/** Gives a valid request of each RPC to the tests of the contract. */
import { generateKeyPairSync } from 'node:crypto';
import { team, type Requests } from '../../../test/contract/requests.ts';

const publicKey = (): string =>
  String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'pem', type: 'spki' }),
  );

export const requests: Requests = {
  'svc.trustedkeys.v1.TrustedKeysService/List': { gives: 'nothing', fields: team },
  'svc.trustedkeys.v1.TrustedKeysService/Add': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, name: 'scanner', publicKey: publicKey() }),
  },
  'svc.trustedkeys.v1.TrustedKeysService/Remove': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, keyId: 'tky_0' }),
    status: 404,
  },
};
