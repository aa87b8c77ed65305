/** `svc builds logs` */
import { exitCodeOfLogs, FOLLOW_ARGS, printLogs, type Following } from '../follow/logs.ts';
import { defineOwn, type GeneratedSpec, type Own } from '../shell/command.ts';
import { BUILD } from './work.ts';

export function logs(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nOn a terminal each phase has a heading and the end is told; in a pipe there is the output alone, standard output and standard error each on its own. A connection that is cut is taken up again where it was. Ends with 1 when the build failed or was cancelled. With --json, every event is one line of JSON.`,
    args: FOLLOW_ARGS,
    examples: [
      ...generated.examples,
      { title: 'What there is so far', cli: 'builds logs bld_01 --env env_01 --no-follow' },
    ],
    run: logsOfBuild,
  });
}

async function logsOfBuild(context: Following): Promise<number> {
  const { output, input, args, io } = context;
  const { environmentId, buildId, ...params } = input;
  const reference = { environmentId: String(environmentId), id: String(buildId) };
  const build = await printLogs(context, BUILD, { reference, params });
  if (args.exitStatus === true || io.stdout.isTerminal) await output.progress(BUILD.describe(build));
  return exitCodeOfLogs(BUILD.exitCode(build), context);
}
