/** `svc runs logs` */
import { SandboxRuns } from '@svc/sdk';
import type { GeneratedSpec } from '../commands.ts';
import { EXIT_STATUS, TIMESTAMPS } from '../follow/flags.ts';
import type { Command, Context } from '../shell/command.ts';
import { runOperation } from '../shell/operation.ts';
import { exitCodeOfRun } from './outcome.ts';
import { copyOutput } from './output.ts';

export function logs(generated: GeneratedSpec): Command {
  return {
    spec: {
      ...generated,
      summary: 'Output of a run as it comes, until the run ends',
      description: `${generated.description} Standard output and standard error of the run come out on those of this command. A connection that is cut is taken up again where it was. With --json, every piece is one line of JSON.`,
      locals: [...generated.locals, EXIT_STATUS, TIMESTAMPS],
      examples: [
        { title: 'What there is so far', cli: 'runs logs run_01 --no-follow' },
        ...generated.examples,
      ],
    },
    run: printLogs,
  };
}

async function printLogs(context: Context): Promise<number | void> {
  const { output, input, locals, signal } = context;
  const { runId, ...params } = input;
  const client = await context.client();
  if (output.format === 'json' || output.format === 'jsonl') await runOperation(context);
  else {
    await copyOutput(context, client, String(runId), {
      params,
      stdoutTo: 'stdout',
      timestamps: locals['timestamps'] === true,
      patient: { signal, isOver: () => false },
    });
  }
  if (locals['exitStatus'] !== true) return undefined;
  return exitCodeOfRun(await new SandboxRuns(client).get(String(runId), { signal }));
}
