/** A build as it is waited for. */
import { Builds, type Build } from '@svc/sdk';
import type { Work } from '../follow/work.ts';
import { describeBuild, exitCodeOfBuild, isOver } from './outcome.ts';
import { copyBuild } from './output.ts';

export const BUILD: Work<Build> = {
  what: 'build',
  get: async (client, { id, environmentId }, signal) =>
    await new Builds(client).get(environmentId, id, { signal }),
  isOver,
  describe: describeBuild,
  exitCode: exitCodeOfBuild,
  reference: ({ id, environmentId }) => `${id} --env ${environmentId}`,
  copyOutput: async (context, { id, environmentId }, to) => {
    await copyBuild(context, [environmentId, id], { params: {}, timestamps: false, ...to });
  },
};
