/** `svc costs buy-credit` names a page to pay at, and waits for the credit. */
import { Costs, type CostsCreditBalanceResponse } from '@svc/sdk';
import { consoleUrl } from '../open/console.ts';
import { patience, watch } from '../follow/watch.ts';
import { defineOwn, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import { cents, readAmount } from '../shell/money.ts';

const ARGS = {
  amount: {
    type: 'positional',
    required: true,
    valueHint: 'amount',
    description: 'Amount in major units of the currency: 50, or 12.50.',
  },
  teamId: { type: 'string', flag: 'team', required: true, description: 'Team id.' },
  successUrl: {
    type: 'string',
    valueHint: 'url',
    description: 'Where the browser goes when it is paid. Default: the costs page of the console.',
  },
  cancelUrl: {
    type: 'string',
    valueHint: 'url',
    description: 'Where the browser goes when it is not. Default: the costs page of the console.',
  },
} satisfies OwnArgs;

export const command = defineOwn({
  description:
    'Prints the address of a page where credit is paid for, and waits until it is there. Ctrl-C ends the wait, and not the purchase. Ends with 8 when it is not there within --timeout.',
  args: ARGS,
  answer: 'costs credits balance',
  examples: [
    { title: 'Fifty, and wait for ten minutes', cli: 'costs buy-credit 50 --team team_01 --timeout 10m' },
  ],
  waits: true,
  run: buyCredit,
});

async function buyCredit(context: ContextOf<typeof ARGS>): Promise<number> {
  const { args, output, io, signal } = context;
  const { teamId } = args;
  const costs = new Costs(await context.client());
  const before = await costs.creditBalance(teamId, { signal });
  const amountCents = readAmount(args.amount, before.decimals);
  if (amountCents === undefined)
    throw new UsageError(
      `"${args.amount}" is no amount in ${before.currency.toUpperCase()}, expected one such as 50`,
    );
  const known = new Set(before.blocks.map(({ id }) => id));
  const { baseUrl } = await context.connection();
  const page = consoleUrl(baseUrl, 'teams', teamId, 'costs');
  const { successUrl = page, cancelUrl = page } = args;
  const checkout = await costs.createCreditCheckout(
    teamId,
    { amountCents, successUrl, cancelUrl },
    { signal },
  );
  await output.note(`Pay ${cents(amountCents, before)} here:\n\n  ${checkout.url}\n`);
  const isNew = ({ blocks }: CostsCreditBalanceResponse): boolean =>
    blocks.some(({ id, kind }) => kind === 'purchase' && !known.has(id));
  const after = await watch(
    { io, output },
    {
      start: before,
      get: async (until) => await costs.creditBalance(teamId, { signal: until }),
      isOver: isNew,
      stage: () => 'waiting',
      describe: () => 'waiting until it is paid; Ctrl-C ends the wait, and not the purchase',
    },
    patience(context),
  );
  await output.value(after);
  if (!isNew(after)) return EXIT.pending;
  await output.progress(`the credit is there: ${cents(after.balanceCents, after)}`);
  return EXIT.ok;
}
