/** The tests of the contract send these requests, one for each RPC. */
import { environment, GUARDED_PORT, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.environments.v1.EnvironmentsService/Create': {
    gives: 'nothing',
    fields: ({ projectId }) => ({ projectId, name: 'made-by-matrix' }),
    guards: {
      what: 'the port of the host that a guarded environment deploys to',
      attempts: ({ projectId }) => [
        { projectId, name: 'instead', deploy: { kind: 'container', hostPort: GUARDED_PORT } },
      ],
    },
  },
  'svc.environments.v1.EnvironmentsService/Delete': {
    statements: 12,
    last: 6,
    gives: 'nothing',
    fields: environment,
    guards: { what: 'that it exists' },
  },
  'svc.environments.v1.EnvironmentsService/Get': { gives: 'nothing', fields: environment },
  'svc.environments.v1.EnvironmentsService/List': {
    gives: 'nothing',
    fields: ({ projectId }) => ({ projectId }),
  },
  'svc.environments.v1.EnvironmentsService/NginxLogs': {
    gives: 'nothing',
    fields: ({ hostedId: environmentId }) => ({ environmentId, kind: 'access' }),
  },
  'svc.environments.v1.EnvironmentsService/NginxMinutes': {
    gives: 'nothing',
    fields: ({ hostedId: environmentId }) => ({ environmentId }),
  },
  'svc.environments.v1.EnvironmentsService/Update': {
    gives: 'nothing',
    fields: (world) => ({ ...environment(world), branch: 'next' }),
    guards: {
      what: 'its fields',
      attempts: (world) =>
        [
          { name: 'aside' },
          { branch: 'side' },
          { runner: { group: 'mine' } },
          { deploy: { kind: 'none' } },
        ].map((change) => ({ ...environment(world), ...change })),
    },
  },
};
