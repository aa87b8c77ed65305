/** A run as it is waited for. */
import { SandboxRuns, type SandboxRun } from '@svc/sdk';
import type { Work } from '../follow/work.ts';
import { describeRun, exitCodeOfRun, isOver } from './outcome.ts';
import { copyOutput } from './output.ts';

export const RUN: Work<SandboxRun> = {
  what: 'run',
  get: async (client, { id }, signal) => await new SandboxRuns(client).get(id, { signal }),
  isOver,
  describe: describeRun,
  exitCode: exitCodeOfRun,
  reference: ({ id }) => id,
  copyOutput: async (context, { id }, to) => await copyOutput(context, id, { params: {}, ...to }),
};
