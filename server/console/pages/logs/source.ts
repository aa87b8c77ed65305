/** Reads what a reverse proxy has logged: the newest lines, and then what is new behind them. */
import { Environments, nginxLineText, type NginxLogKind, type NginxLogLine } from '@svc/sdk';
import { client } from '../../api.ts';
import { pause } from '../../live.ts';
import type { LogSource, PlacedPiece } from '../../parts/log/followed-log.ts';
import { counted } from '../../words.ts';

export const environments = new Environments(client);

/** A runner tells what is new every 10 seconds. */
const LOOK_MS = 5_000;
const LINES_MAX = 1_000;

const isBad = ({ status = 0, level }: NginxLogLine): boolean => status >= 500 || level !== undefined;

export function nginxLog(environmentId: string, kind: NginxLogKind): LogSource {
  return {
    onMoved: () => undefined,
    open: async function* (from, { signal }): AsyncGenerator<PlacedPiece> {
      for (let after = from; ;) {
        const params = { ...(after !== undefined && { after }), lines: LINES_MAX, maxRetries: 0 };
        const { lines, dropped, position } = await environments.nginxLogs(environmentId, kind, params, {
          signal,
        });
        // Without a line, too: the page knows then that nothing is new.
        const text = dropped === 0 ? '' : `${counted(dropped, 'line is', 'lines are')} left out here\n`;
        const before = Number(position) - lines.length;
        yield { attempt: 1, stream: 'runner', text, position: String(before) };
        for (const [n, line] of lines.entries())
          yield {
            attempt: 1,
            stream: isBad(line) ? 'stderr' : 'stdout',
            text: `${nginxLineText(line)}\n`,
            at: line.at,
            position: String(before + n + 1),
          };
        after = position;
        if (lines.length < LINES_MAX) await pause(LOOK_MS, signal);
        // It has no end of its own.
        signal.throwIfAborted();
      }
    },
  };
}
