/**
 * The tests of the contract know from this what each call of machines gives; test/contract/machine.test.ts
 * calls them.
 */
import type { Gives } from '../../../test/contract/requests.ts';

const enrollment = 'server/engine/runners/runners.test.ts';

export const machineCalls: Readonly<Record<string, Gives | 'nothing'>> = {
  'svc.dispatch.v1.DispatchService/AppendLogs': 'nothing',
  'svc.dispatch.v1.DispatchService/Enroll': {
    what: 'a runner',
    bound: 'as RunnerService/Enroll, which it is for',
    story: enrollment,
  },
  'svc.dispatch.v1.DispatchService/Heartbeat': 'nothing',
  'svc.dispatch.v1.DispatchService/HostLogs': 'nothing',
  'svc.dispatch.v1.DispatchService/Poll': 'nothing',
  'svc.dispatch.v1.DispatchService/Report': 'nothing',
  'svc.dispatch.v1.DispatchService/ResolveKey': 'nothing',
  'svc.dispatch.v1.DispatchService/SyncHost': 'nothing',
  'svc.dispatch.v1.DispatchService/WatchFeatures': 'nothing',
  'svc.runner.v1.RunnerService/BuildLogs': 'nothing',
  'svc.runner.v1.RunnerService/BuildPoll': 'nothing',
  'svc.runner.v1.RunnerService/BuildReport': 'nothing',
  'svc.runner.v1.RunnerService/Enroll': {
    what: 'a runner, which is the team’s and not its issuer’s',
    bound: 'an enrollment token, once, while who issued it may issue it; runner:manage revokes it',
    story: enrollment,
  },
  'svc.runner.v1.RunnerService/Heartbeat': 'nothing',
  'svc.runner.v1.RunnerService/HostLogs': 'nothing',
  'svc.runner.v1.RunnerService/Logs': 'nothing',
  'svc.runner.v1.RunnerService/LogsOfMany': 'nothing',
  'svc.runner.v1.RunnerService/Poll': 'nothing',
  'svc.runner.v1.RunnerService/Report': 'nothing',
  'svc.runner.v1.RunnerService/ReportsOfMany': 'nothing',
  'svc.runner.v1.RunnerService/SyncHost': 'nothing',
};
