/** Reads the output of a run. */
import type { LogSource } from '../../parts/log/followed-log.ts';
import { sandboxRuns } from './words.ts';

/** Grants rise with each execution, and not always by one. */
export function runOutput(id: string, onMoved: () => void): LogSource {
  let granted = 0;
  let attempt = 0;
  return {
    onMoved,
    open: async function* (after, options) {
      const from = { follow: true, ...(after !== undefined && { after }) };
      for await (const { epoch, ...event } of sandboxRuns.streamLogs(id, from, options)) {
        if (epoch !== granted) attempt += 1;
        granted = epoch;
        yield { ...event, attempt };
      }
    },
  };
}
