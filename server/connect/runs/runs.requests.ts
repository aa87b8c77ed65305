/** The tests of the contract send these requests, one for each RPC. */
import { team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';
import { ciConnection } from '../connections/connections.requests.ts';

const ciRun = ({ ciRunId }: World) => ({ runId: ciRunId });

export const requests: Requests = {
  'svc.ci.v1.CiService/Complete': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), status: 'success' }),
  },
  'svc.ci.v1.CiService/GetRun': { gives: 'nothing', fields: ciRun },
  'svc.ci.v1.CiService/ListPipelines': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListRunJobs': { gives: 'nothing', fields: ciRun },
  'svc.ci.v1.CiService/ListRunsForConnection': { gives: 'nothing', fields: ciConnection },
  'svc.ci.v1.CiService/ListRunsForPipeline': {
    gives: 'nothing',
    fields: ({ ciPipelineId }) => ({ pipelineId: ciPipelineId }),
  },
  'svc.ci.v1.CiService/ListRunsForTeam': { gives: 'nothing', fields: team },
  'svc.ci.v1.CiService/Report': {
    gives: 'nothing',
    guards: 'nothing',
    fields: ({ ciConnectionId }) => ({ ciConnectionId, externalRunId: '2', status: 'running' }),
  },
  'svc.ci.v1.CiService/ReportJobs': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), jobs: [{ name: 'test', status: 'running' }] }),
  },
  'svc.ci.v1.CiService/UpdateRun': {
    gives: 'nothing',
    guards: 'nothing',
    fields: (world) => ({ ...ciRun(world), durationMs: 1 }),
  },
};
