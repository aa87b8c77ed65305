/** A build as it is waited for. */
import { Builds, type Build } from '@svc/sdk';
import type { Work } from '../follow/work.ts';
import { describeBuild, exitCodeOfBuild, isOver } from './outcome.ts';

export const BUILD: Work<Build, Pick<Build, 'id' | 'environmentId'>> = {
  what: 'build',
  get: async (client, { id, environmentId }, signal) =>
    await new Builds(client).get(environmentId, id, { signal }),
  isOver,
  describe: describeBuild,
  exitCode: exitCodeOfBuild,
  reference: ({ id, environmentId }) => `${id} --env ${environmentId}`,
  output: ({ id, environmentId }) => ({
    what: 'build',
    open: (client, params, options) => new Builds(client).streamLogs(environmentId, id, params, options),
  }),
};
