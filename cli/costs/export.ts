/** `svc costs export` writes costs as a file that is whole or not there. */
import { Costs } from '@svc/sdk';
import { defineOwn, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { deliver } from '../shell/download.ts';
import { defined } from '../shell/paths.ts';

const ARGS = {
  teamId: { type: 'string', flag: 'team', required: true, description: 'Team id.' },
  format: {
    type: 'enum',
    options: ['csv', 'json'],
    description: 'CSV, or a JSON object a line. Default: csv.',
  },
  out: {
    type: 'string',
    valueHint: 'file',
    description: 'File to write; it is there when it is whole. Default: standard output, as is -.',
  },
  since: {
    type: 'string',
    valueHint: 'day',
    description: 'First day, YYYY-MM-DD. Default: the first of this month.',
  },
  until: {
    type: 'string',
    valueHint: 'day',
    description: 'Day after the last one. Default: now.',
  },
  detail: {
    type: 'enum',
    options: ['days', 'items'],
    description: 'Rows by day, or one a run or build with list costs alone. Default: days.',
  },
} satisfies OwnArgs;

export const command = defineOwn({
  description:
    'Exports costs by the columns of FOCUS 1.2. A file is written as FILE.part and renamed when all of it has come; what breaks off leaves nothing. At most two exports of an account run at once.',
  args: ARGS,
  answer: false,
  examples: [
    { title: 'This month', cli: 'costs export --team team_01 --out costs.csv' },
    {
      title: 'One month, each run and build',
      cli: 'costs export --team team_01 --format json --detail items --since 2026-10-01 --until 2026-11-01 --out october.jsonl',
    },
  ],
  run: exportCosts,
});

async function exportCosts(context: ContextOf<typeof ARGS>): Promise<void> {
  const { args, signal } = context;
  const { teamId, format, since, until } = args;
  const params = defined({ since, until, detail: args.detail as 'days' | 'items' | undefined });
  await deliver(context, { flag: 'out', file: args.out }, async () => {
    const costs = new Costs(await context.client());
    return format === 'json'
      ? costs.exportJson(teamId, params, { signal })
      : costs.exportCsv(teamId, params, { signal });
  });
}
