/** The tests of the contract send these requests, one for each RPC. */
import { team, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.sandboxruns.v1.SandboxRunsService/Cancel': {
    gives: 'nothing',
    guards: 'nothing',
    fields: ({ runId }) => ({ runId }),
  },
  'svc.sandboxruns.v1.SandboxRunsService/Create': {
    gives: 'nothing',
    guards: 'nothing',
    fields: ({ teamId }) => ({ teamId, command: ['true'] }),
  },
  'svc.sandboxruns.v1.SandboxRunsService/Get': { gives: 'nothing', fields: ({ runId }) => ({ runId }) },
  'svc.sandboxruns.v1.SandboxRunsService/List': { gives: 'nothing', fields: team },
  'svc.sandboxruns.v1.SandboxRunsService/StreamLogs': {
    gives: 'nothing',
    fields: ({ runId }) => ({ runId, follow: false }),
  },
};
