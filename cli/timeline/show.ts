/** `svc timeline` */
import type { TimelinePage } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';

const COLUMNS = [
  'at',
  'commitSha',
  'kind',
  'name',
  'status',
  'mergeQueue',
  'blocked',
  'reason',
  'chip',
  'durationMs',
  'url',
];

export const show = (): Own => ({ columns: COLUMNS, run: showTimeline });

async function showTimeline(context: Context): Promise<void> {
  const { input, output, signal } = context;
  const client = await context.client();
  const page = await client.call<TimelinePage>(operationOf(context), input, { signal });
  if (output.format !== 'table' && output.format !== 'tsv') return output.value(page);
  await output.rows([page.entries], COLUMNS);
  if (page.nextCursor !== undefined) await output.progress(`there is more: --cursor ${page.nextCursor}`);
}
