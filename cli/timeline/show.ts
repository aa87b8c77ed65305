/** `svc timeline` */
import type { TimelinePage } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';

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
  const { output } = context;
  const page = await answerOf<TimelinePage>(context);
  if (isJson(output)) return output.value(page);
  await output.rows([page.entries], COLUMNS);
  if (page.nextCursor !== undefined) await output.progress(`there is more: --cursor ${page.nextCursor}`);
}
