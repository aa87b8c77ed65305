/** `svc builds logs` */
import { Builds } from '@svc/sdk';
import { exitCodeOfLogs, FOLLOW_ARGS } from '../follow/flags.ts';
import { defineOwn, type ContextOf, type GeneratedSpec, type Own } from '../shell/command.ts';
import { runOperation } from '../shell/operation.ts';
import { describeBuild, exitCodeOfBuild } from './outcome.ts';
import { copyBuild } from './output.ts';

type Following = ContextOf<typeof FOLLOW_ARGS>;

export function logs(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nOn a terminal each phase has a heading and the end is told; in a pipe there is the output alone, standard output and standard error each on its own. A connection that is cut is taken up again where it was. Ends with 1 when the build failed or was cancelled. With --json, every event is one line of JSON.`,
    args: FOLLOW_ARGS,
    examples: [
      ...generated.examples,
      { title: 'What there is so far', cli: 'builds logs bld_01 --env env_01 --no-follow' },
    ],
    run: printLogs,
  });
}

async function printLogs(context: Following): Promise<number> {
  const { output, input, args, signal, io } = context;
  const { environmentId, buildId, ...params } = input;
  const which = [String(environmentId), String(buildId)] as const;
  if (output.format === 'json' || output.format === 'jsonl') {
    await runOperation(context);
  } else {
    const timestamps = args.timestamps === true;
    const patient = { signal, isOver: () => false };
    await copyBuild(context, which, { params, stdoutTo: 'stdout', timestamps, patient });
  }
  const build = await new Builds(await context.client()).get(...which, { signal });
  if (args.exitStatus === true || io.stdout.isTerminal) await output.progress(describeBuild(build));
  return exitCodeOfLogs(exitCodeOfBuild(build), args);
}
