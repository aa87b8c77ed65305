/** Reads the output of a build, with its phases between the lines. */
import type { Build } from '@svc/sdk';
import type { LogSource } from '../../parts/log/followed-log.ts';
import { builds } from './calls.ts';
import { levelOf, PHASE } from './words.ts';

export const buildOutput = ({ environmentId, id }: Build, onMoved: () => void): LogSource => ({
  onMoved,
  levelOf,
  open: async function* (after, options) {
    const from = after === undefined ? {} : { after };
    for await (const { phase, state, ...event } of builds.streamLogs(environmentId, id, from, options)) {
      const isMove = phase !== undefined || state !== undefined;
      // The phase is known before what its runner had written until then has come.
      yield {
        ...event,
        isMove,
        ...(phase !== undefined && { part: { name: PHASE[phase], line: `==> ${phase}:` } }),
      };
    }
  },
});
