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
  // It is said in a script, too, as of other lists.
  if (page.nextCursor !== undefined)
    await output.note(
      `${page.entries.length} shown, and there are more: --limit 200; go on behind them with --cursor ${page.nextCursor}`,
    );
}
