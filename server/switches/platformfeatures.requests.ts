/** This file lists valid requests of each RPC, for the tests of the contract. */
import { nothing, type Requests } from '../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.platformfeatures.v1.PlatformFeaturesService/Companion': { gives: 'nothing', fields: nothing },
  'svc.platformfeatures.v1.PlatformFeaturesService/Get': {
    gives: 'nothing',
    fields: () => ({ key: 'host.ci' }),
  },
  'svc.platformfeatures.v1.PlatformFeaturesService/History': {
    gives: 'nothing',
    fields: () => ({ key: 'host.ci' }),
  },
  'svc.platformfeatures.v1.PlatformFeaturesService/List': { gives: 'nothing', fields: nothing },
  'svc.platformfeatures.v1.PlatformFeaturesService/Resolved': { gives: 'nothing', fields: nothing },
  'svc.platformfeatures.v1.PlatformFeaturesService/SetState': {
    gives: 'nothing',
    // This switch is off at the first start, and other rows of the matrix do not stand behind it.
    fields: () => ({ key: 'host.automation.maintenance', state: 'enabled', reason: 'seen by the matrix' }),
  },
  'svc.platformfeatures.v1.PlatformFeaturesService/Watch': { gives: 'nothing', fields: nothing },
};
