/** `svc runs logs` */
import type { GeneratedSpec } from '../commands.ts';
import type { Command, Context } from '../shell/command.ts';
import { runOperation } from '../shell/operation.ts';
import { copyOutput } from './output.ts';

export function logs(generated: GeneratedSpec): Command {
  return {
    spec: {
      ...generated,
      summary: 'Output of a run as it comes, until the run ends',
      description: `${generated.description} Standard output and standard error of the run come out on those of this command. With --json, every piece is one line of JSON.`,
      examples: [
        { title: 'What there is so far', cli: 'runs logs run_01 --no-follow' },
        ...generated.examples,
      ],
    },
    run: printLogs,
  };
}

async function printLogs(context: Context): Promise<void> {
  const { output, input, signal } = context;
  if (output.format === 'json' || output.format === 'jsonl') return runOperation(context);
  const { runId, ...params } = input;
  const client = await context.client();
  await copyOutput(context, client, String(runId), {
    params,
    stdoutTo: 'stdout',
    patient: { signal, isOver: () => false },
  });
}
