/** `svc logs nginx` shows the access or the error log of an environment, and follows it. */
import { Environments, nginxLineText, type EnvironmentsNginxLogsResponse, type NginxLogLine } from '@svc/sdk';
import { persistently } from '../follow/persist.ts';
import { defineOwn, type ContextOf, type GeneratedSpec, type Own, type OwnArgs } from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';

/** A runner tells what is new every 10 seconds. */
const LOOK_EVERY_MS = 3_000;
const LINES_MAX = 1_000;

const ARGS = {
  errors: { type: 'boolean', description: 'Show the log of errors.' },
  follow: { type: 'boolean', alias: 'f', description: 'Go on with the lines that come, until Ctrl-C.' },
} satisfies OwnArgs;

type Showing = ContextOf<typeof ARGS>;

export function nginx(generated: GeneratedSpec): Own {
  const { description, flags } = generated;
  return defineOwn({
    description: `${description} Each is one line of text with its time. With --json it is the answer of the API, and with --follow every line one line of JSON.`,
    positionals: [],
    flags: flags.filter(({ name }) => name !== 'after'),
    args: ARGS,
    examples: [
      { title: 'What was answered last', cli: 'logs nginx --env env_01' },
      { title: 'Errors, as they come', cli: 'logs nginx --env env_01 --errors --follow' },
    ],
    run: showLogs,
  });
}

async function showLogs(context: Showing): Promise<void> {
  const { args, input, output } = context;
  const kind = args.errors === true ? 'error' : 'access';
  if (args.follow !== true) {
    const answer = await answerOf<EnvironmentsNginxLogsResponse>(context, { ...input, kind });
    return isJson(output) ? await output.value(answer) : await show(context, answer);
  }
  const pages = persistently(context, context.signal, (after) => follow(context, kind, after));
  for await (const page of pages) await show(context, page);
}

/** The newest lines come first, and then what is new behind them. */
async function* follow(
  context: Showing,
  kind: 'access' | 'error',
  from: string | undefined,
): AsyncGenerator<EnvironmentsNginxLogsResponse> {
  const { io, input, signal } = context;
  const environments = new Environments(await context.client());
  const lines = input['lines'] === undefined ? {} : { lines: Number(input['lines']) };
  for (let after = from; ;) {
    const params = after === undefined ? lines : { after, lines: LINES_MAX };
    const page = await environments.nginxLogs(String(input['environmentId']), kind, params, { signal });
    after = page.position;
    yield page;
    if (page.lines.length < LINES_MAX) await io.pause(LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}

async function show({ output, args }: Showing, page: EnvironmentsNginxLogsResponse): Promise<void> {
  const { lines, dropped } = page;
  const isItems = args.follow === true && isJson(output);
  if (dropped > 0) await output.note(`${dropped} lines are left out here`);
  for (const line of lines)
    if (isItems) await output.item(line);
    else await output.log('stdout', textOf(line));
}

const textOf = (line: NginxLogLine): string => `${line.at} ${nginxLineText(line)}\n`;
