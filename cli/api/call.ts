/** `svc api` calls whatever has no command yet. */
import type { Operation } from '@svc/sdk';
import { defineOwn, type Context, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { dataFlag, parseData } from '../shell/data.ts';
import { UsageError } from '../shell/errors.ts';

const METHODS: readonly Operation['method'][] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** No operation takes a longer one. */
const BODY_BYTES_MAX = 1_048_576;

const ARGS = {
  method: {
    type: 'positional',
    required: true,
    valueHint: 'METHOD',
    description: `One of ${METHODS.join(', ')}.`,
  },
  path: {
    type: 'positional',
    required: true,
    valueHint: 'path',
    description: 'Path with its query, such as /projects?limit=1.',
  },
} satisfies OwnArgs;

export const command = defineOwn({
  description:
    'Calls any path of the API with the stored credential and prints the answer as it came, JSON indented. Requests other than GET carry a fresh Idempotency-Key. Streams are not followed: "svc runs logs" is there for that.',
  args: ARGS,
  answer: '*',
  examples: [
    { title: 'Who am I', cli: 'api GET /account' },
    { title: 'Submit a run from a file', cli: 'api POST /teams/team_01/sandbox-runs --data @run.json' },
  ],
  locals: [{ ...dataFlag(BODY_BYTES_MAX), description: 'Request body as JSON.' }],
  auth: 'optional',
  run: callApi,
});

async function callApi(context: ContextOf<typeof ARGS>): Promise<void> {
  const { args, signal, output } = context;
  const method = readMethod(args.method);
  const path = readPath(args.path);
  const data = (args as Context['args'])['data'];
  if (method === 'GET' && data !== undefined)
    throw new UsageError('a GET request has no body; --data belongs to the other methods');
  const body = data !== undefined ? parseData(String(data), true) : undefined;
  const operation: Operation = { method, path, ...(body === undefined ? {} : { body: '*' }) };
  const client = await context.client();
  const response = await client.call(operation, body ?? {}, { signal }).asResponse();
  const text = await response.text();
  if (text === '') return output.progress(`${method} ${path}: ${response.status}`);
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  if (isJson) await printJson(context, JSON.parse(text));
  else await output.raw(text.endsWith('\n') ? text : `${text}\n`);
}

/** JSON unless another format was asked for: what comes back is for whoever knows the path. */
async function printJson({ output, globals }: Context, value: unknown): Promise<void> {
  if (globals.output === undefined && !globals.json)
    await output.raw(`${JSON.stringify(value, undefined, 2)}\n`);
  else await output.value(value);
}

function readMethod(text: string): Operation['method'] {
  const method = METHODS.find((known) => known === text.toUpperCase());
  if (method === undefined)
    throw new UsageError(`<METHOD> must be one of ${METHODS.join(', ')}, got "${text}"`);
  return method;
}

function readPath(text: string): string {
  if (!text.startsWith('/')) throw new UsageError(`<path> must begin with "/", got "${text}"`);
  const braces = /\{[^}]+\}/.exec(text);
  if (braces !== null) throw new UsageError(`put a value in place of ${braces[0]} in <path>`);
  return text;
}
