/** Runs a generated command: one call, one list, or one stream. */
import type { CallOptions, Client, Operation } from '@svc/sdk';
import { commandLine, type Context } from './command.ts';
import { UsageError } from './errors.ts';
import { isJson } from './output.ts';
import { isRecord, type Json } from './paths.ts';

export async function runOperation(context: Context): Promise<void> {
  const { spec, input, output } = context;
  if (spec.raw === true) return (await import('./download.ts')).download(context);
  const operation = operationOf(context);
  const client = await context.client();
  const options = { signal: context.signal };
  if (spec.stream) {
    for await (const event of client.stream<unknown>(operation, input, options)) await output.item(event);
    return;
  }
  if (spec.page !== undefined) return listPages(context, client, operation);
  const answer = await client.call<unknown>(operation, input, options);
  if (spec.empty || answer === undefined) await output.progress(`${commandLine(spec)}: done`);
  else await printAnswer(context, answer);
  await warnOfSecrets(context);
}

/** Makes the one call that the command stands for. */
export async function answerOf<T>(
  context: Context,
  input = context.input,
  options: CallOptions = { signal: context.signal },
): Promise<T> {
  const client = await context.client();
  return await client.call<T>(operationOf(context), input, options);
}

export function operationOf({ spec }: Pick<Context, 'spec'>): Operation {
  if (spec.operation === undefined) throw new Error(`"${commandLine(spec)}" stands for no API call`);
  return spec.operation;
}

/** Prints a list as rows when a table is wanted, and as the API answered it otherwise. */
export async function printAnswer({ spec, output }: Context, answer: unknown): Promise<void> {
  const inner = isRecord(answer) && spec.rows !== undefined ? answer[spec.rows] : answer;
  if (Array.isArray(answer) || (!isJson(output) && Array.isArray(inner))) {
    const rows = Array.isArray(inner) ? inner : [];
    await output.rows([rows], spec.columns);
    if (isRecord(answer) && spec.operation?.isNumbered === true) await tellRest(output, answer, rows.length);
  } else await output.value(answer);
}

/** A page by its number is told of beside its rows: what is wrong with it, and which one is next. */
async function tellRest(output: Context['output'], answer: Json, count: number): Promise<void> {
  const { problems, nextPage } = answer;
  for (const problem of Array.isArray(problems) ? problems : []) await output.note(String(problem));
  if (typeof nextPage === 'number')
    await output.note(`${count} shown, and there are more: --page ${nextPage}`);
}

/** Rows of a list where nobody says how many. */
export const ROWS_USUAL = 30;

/**
 * Lists as many rows as `--limit` says, or all pages with `--all`. The last page is asked for with exactly
 * what is still missing, so that the cursor told at the end is the one behind the last row.
 */
async function listPages(context: Context, client: Client, operation: Operation): Promise<void> {
  const { spec, input, output, signal } = context;
  let left = limitOf(context);
  let cursor = input['cursor'];
  let more: string | undefined;
  async function* pages(): AsyncGenerator<readonly unknown[]> {
    for (;;) {
      const size = Math.min(left, spec.page?.maxLimit ?? left);
      const page = await onePage(client, operation, { input: { ...input, limit: size, cursor }, signal });
      yield page.items.slice(0, left);
      left -= page.items.length;
      more = page.nextCursor;
      if (more === undefined || left <= 0) return;
      if (more === cursor) throw new Error('the server answered a page with itself as the next page');
      cursor = more;
    }
  }
  const count = await output.rows(pages(), spec.columns);
  // It is said in a script, too: who counts the rows must know that there are others.
  if (more !== undefined)
    await output.note(
      `${count} shown, and there are more: --limit ${count * 10}, or --all; go on behind them with --cursor ${more}`,
    );
}

async function onePage(
  client: Client,
  operation: Operation,
  { input, signal }: Pick<Context, 'input' | 'signal'>,
) {
  for await (const page of client.list<unknown>(operation, input, { signal }).pages()) return page;
  return { items: [] };
}

function limitOf({ input, args }: Context): number {
  const { limit } = input;
  if (args['all'] === true) {
    if (limit !== undefined) throw new UsageError('--all and --limit contradict each other');
    return Number.POSITIVE_INFINITY;
  }
  if (typeof limit !== 'number') return ROWS_USUAL;
  if (limit < 1) throw new UsageError(`--limit must be at least 1, got ${limit}`);
  return limit;
}

/** Warns on standard error, so that the secret itself can be piped. */
export async function warnOfSecrets({ spec, output }: Context): Promise<void> {
  if (spec.secrets.length === 0) return;
  const names = spec.secrets.join(' and ');
  await output.note(
    `warning: ${names} ${spec.secrets.length === 1 ? 'is' : 'are'} shown only this once; store it safely now`,
  );
}
