/** `svc runs logs` */
import { SandboxRuns } from '@svc/sdk';
import { exitCodeOfLogs, FOLLOW_ARGS } from '../follow/flags.ts';
import { defineOwn, type ContextOf, type GeneratedSpec, type Own } from '../shell/command.ts';
import { runOperation } from '../shell/operation.ts';
import { exitCodeOfRun } from './outcome.ts';
import { copyOutput } from './output.ts';

type Following = ContextOf<typeof FOLLOW_ARGS>;

export function logs(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description} Standard output and standard error of the run come out on those of this command. A connection that is cut is taken up again where it was. Ends with 1 when the run did not succeed. With --json, every piece is one line of JSON.`,
    args: FOLLOW_ARGS,
    examples: [{ title: 'What there is so far', cli: 'runs logs run_01 --no-follow' }, ...generated.examples],
    run: printLogs,
  });
}

async function printLogs(context: Following): Promise<number> {
  const { output, input, args, signal } = context;
  const { runId, ...params } = input;
  const client = await context.client();
  if (output.format === 'json' || output.format === 'jsonl') await runOperation(context);
  else {
    await copyOutput(context, String(runId), {
      params,
      stdoutTo: 'stdout',
      timestamps: args.timestamps === true,
      patient: { signal, isOver: () => false },
    });
  }
  const run = await new SandboxRuns(client).get(String(runId), { signal });
  return exitCodeOfLogs(exitCodeOfRun(run), args);
}
