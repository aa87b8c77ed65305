/** `svc costs explain` shows the receipt of a run or a build, down to milliseconds times price. */
import type { Receipt, ReceiptLine } from '@svc/sdk';
import type { GeneratedSpec, Own } from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';
import { labelled, neutraliseLine } from '../shell/text.ts';
import { formatDuration } from '../shell/time.ts';

export function explain(generated: GeneratedSpec): Own {
  return {
    description: generated.description,
    examples: [{ title: 'A run', cli: 'costs explain run_01 --team team_01' }],
    run: async (context) => {
      const { output } = context;
      const receipt = await answerOf<Receipt>(context);
      if (output.format !== 'table') return await output.value(receipt);
      await output.raw(`${describe(receipt).join('\n')}\n`);
    },
  };
}

const line = labelled(8);

function describe({ itemId, currency, cost, lines }: Receipt): string[] {
  const code = currency.toUpperCase();
  const told = lines.flatMap((each) => [...describeLine(each, code), '']);
  const total = lines.length > 1 ? [line('sum', `${cost} ${code}`)] : [];
  return [
    line('item', neutraliseLine(itemId)),
    ...(total.length > 0 ? [...told, ...total] : told.slice(0, -1)),
  ];
}

function describeLine(each: ReceiptLine, code: string): string[] {
  const { meter, runnerId, epoch, claimedAt, reportedAt, meteredMs, selfReportedMs } = each;
  const place = [each.projectId, each.environmentId].filter((part) => part !== undefined).join('/');
  return [
    line('meter', `${meter}, runner ${neutraliseLine(runnerId)}, grant ${epoch}`),
    ...(place === '' ? [] : [line('place', neutraliseLine(place))]),
    line('claimed', claimedAt),
    line('reported', reportedAt),
    ...(selfReportedMs === undefined
      ? []
      : [line('its own', `${formatDuration(selfReportedMs)} by the runner's clock, which changes no cost`)]),
    line('price', `${unitPrice(each.nanosPerSecond)} ${code} a second (${each.priceId})`),
    line('cost', `${meteredMs} ms x ${unitPrice(each.nanosPerSecond)} ${code}/s = ${each.cost} ${code}`),
  ];
}

function unitPrice(nanos: number): string {
  return `${Math.trunc(nanos / 1e9)}.${String(nanos % 1e9).padStart(9, '0')}`;
}
