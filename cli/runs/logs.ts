/** `svc runs logs` */
import { exitCodeOfLogs, FOLLOW_ARGS, printLogs, type Following } from '../follow/logs.ts';
import { defineOwn, type GeneratedSpec, type Own } from '../shell/command.ts';
import { RUN } from './work.ts';

export function logs(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description} Standard output and standard error of the run come out on those of this command. A connection that is cut is taken up again where it was. Ends with 1 when the run did not succeed. With --json, every piece is one line of JSON.`,
    args: FOLLOW_ARGS,
    examples: [{ title: 'What there is so far', cli: 'runs logs run_01 --no-follow' }, ...generated.examples],
    run: logsOfRun,
  });
}

async function logsOfRun(context: Following): Promise<number> {
  const { runId, ...params } = context.input;
  const run = await printLogs(context, RUN, { reference: { id: String(runId) }, params });
  return exitCodeOfLogs(RUN.exitCode(run), context);
}
