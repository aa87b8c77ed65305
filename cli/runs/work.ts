/** A run as it is waited for. */
import { SandboxRuns, type SandboxRun } from '@svc/sdk';
import type { Work } from '../follow/work.ts';
import { describeRun, exitCodeOfRun, isOver } from './outcome.ts';

export const RUN: Work<SandboxRun, Pick<SandboxRun, 'id'>> = {
  what: 'run',
  get: async (client, { id }, signal) => await new SandboxRuns(client).get(id, { signal }),
  isOver,
  describe: describeRun,
  exitCode: exitCodeOfRun,
  reference: ({ id }) => id,
  output: ({ id }) => ({
    what: 'run',
    open: (client, params, options) => new SandboxRuns(client).streamLogs(id, params, options),
  }),
};
