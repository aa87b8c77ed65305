/** The tests of the contract send these requests, one for each RPC. */
import { team, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.registries.v1.RegistriesService/Add': {
    gives: 'nothing',
    fields: (world) => ({ ...team(world), host: 'registry.example.com', namespace: 'matrix' }),
  },
  'svc.registries.v1.RegistriesService/List': { gives: 'nothing', fields: team },
  'svc.registries.v1.RegistriesService/Update': {
    gives: 'nothing',
    fields: ({ teamId, registryId }) => ({ teamId, registryId, default: true }),
  },
  'svc.registries.v1.RegistriesService/Remove': {
    gives: 'nothing',
    fields: ({ teamId, registryId }) => ({ teamId, registryId }),
    last: 1,
  },
};
