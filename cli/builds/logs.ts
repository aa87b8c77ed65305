/** `svc builds logs` */
import { Builds, type BuildEvent } from '@svc/sdk';
import { FOLLOW_ARGS, noteMissing } from '../follow/flags.ts';
import { persistently } from '../follow/persist.ts';
import { createStamper, type Stamper } from '../follow/stamps.ts';
import { defineOwn, type ContextOf, type GeneratedSpec, type Own } from '../shell/command.ts';
import { colorOfState } from '../shell/color.ts';
import { runOperation } from '../shell/operation.ts';
import { describeBuild, exitCodeOfBuild } from './outcome.ts';

type Following = ContextOf<typeof FOLLOW_ARGS>;

export function logs(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nOn a terminal each phase has a heading and the end is told; in a pipe there is the output alone, standard output and standard error each on its own. A connection that is cut is taken up again where it was. With --json, every event is one line of JSON.`,
    args: FOLLOW_ARGS,
    examples: [
      ...generated.examples,
      { title: 'What there is so far', cli: 'builds logs bld_01 --env env_01 --no-follow' },
      { title: 'End as the build ends', cli: 'builds logs bld_01 --env env_01 --exit-status' },
    ],
    run: printLogs,
  });
}

async function printLogs(context: Following): Promise<number | void> {
  const { output, input, args, signal, io } = context;
  const { environmentId, buildId, ...params } = input;
  const which = [String(environmentId), String(buildId)] as const;
  if (output.format === 'json' || output.format === 'jsonl') {
    await runOperation(context);
  } else {
    const missing = await copyBuild(context, which, params);
    await noteMissing(context, missing);
  }
  if (args.exitStatus !== true && !io.stdout.isTerminal) return undefined;
  const build = await new Builds(await context.client()).get(...which, { signal });
  await output.progress(describeBuild(build));
  return args.exitStatus === true ? exitCodeOfBuild(build) : undefined;
}

/** Resolves with the number of bytes that are missing. */
async function copyBuild(
  context: Following,
  which: readonly [string, string],
  params: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { output, signal, args } = context;
  const stamper = args.timestamps === true ? createStamper() : undefined;
  const client = await context.client();
  const { tailBytes: _onlyAtFirst, ...rest } = params;
  const events = persistently(context, signal, (after) =>
    new Builds(client).streamLogs(...which, after === undefined ? params : { ...rest, after }, { signal }),
  );
  let missing = 0;
  let attempt: number | undefined;
  for await (const event of events) {
    if (attempt !== undefined && event.attempt > attempt)
      await output.note('the build was started again; its output begins anew');
    attempt = event.attempt;
    missing += event.missingBytes ?? 0;
    await show(context, event, stamper);
  }
  return missing;
}

async function show(
  { output, io }: Following,
  { phase, state, stream, text, at }: BuildEvent,
  stamper: Stamper | undefined,
): Promise<void> {
  if (io.stdout.isTerminal) {
    const { paint } = output;
    const time = stamper === undefined || at === undefined ? '' : `${at} `;
    // Words of the contract only: nothing in a heading comes from the build itself.
    if (phase !== undefined) await output.raw(`${time}${paint('bold', `==> ${phase}`)}\n`);
    if (phase === undefined && state !== undefined)
      await output.raw(`${paint(colorOfState(state) ?? 'dim', `--- ${state}`)}\n`);
  }
  if (text === undefined || text === '' || stream === undefined) return;
  // A server that is older than this command says no time.
  const shown = stamper === undefined || at === undefined ? text : stamper.stamp(stream, text, at);
  await output.log(stream === 'stdout' ? 'stdout' : 'stderr', shown);
}
