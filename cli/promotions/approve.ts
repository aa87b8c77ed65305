/** `svc promotions approve` lets nobody approve what was not shown. */
import { Promotions, type Promotion } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { agree } from '../shell/confirm.ts';
import { answerOf } from '../shell/operation.ts';
import { neutraliseLine } from '../shell/text.ts';
import { describeChanges } from './changes.ts';
import { describePromotion, environmentFirst } from './command.ts';

export function approve(generated: GeneratedSpec): Own {
  return {
    ...environmentFirst(generated),
    description: `${generated.description}\n\nFirst it shows what changes against what the environment runs now: version and commit, artifacts and packages, where it goes, approvals that count no longer, and what the policies say. Then it asks; --yes answers in advance, and is required without a terminal. What was shown is what is approved: if it has changed meanwhile, nothing is.`,
    examples: [
      { title: 'See what changes, and approve', cli: 'promotions approve env_01 prm_01' },
      {
        title: 'Although a policy says no, as an owner',
        cli: 'promotions approve env_01 prm_01 --override-reason "the fix cannot wait"',
      },
    ],
    run: approvePromotion,
  };
}

async function approvePromotion(context: Context): Promise<void> {
  const { input, output } = context;
  const { fingerprint } = await review(context, new Promotions(await context.client()));
  // The server refuses it if something has changed since it was shown.
  const seen = fingerprint === undefined ? {} : { fingerprint };
  const approved = await answerOf<Promotion>(context, { ...seen, ...input });
  await output.value(approved);
  await output.progress(describePromotion(approved));
}

async function review(
  { input, io, globals, output, signal }: Context,
  promotions: Promotions,
): Promise<Promotion> {
  const which = [String(input['environmentId']), String(input['promotionId'])] as const;
  const preview = await promotions.preview(...which, { signal });
  const { promotion } = preview;
  // The server refuses a promotion that has ended, so nobody is asked about it.
  if (promotion.state !== 'pending') return promotion;
  for (const line of describeChanges(preview)) await output.note(neutraliseLine(line));
  if (globals.yes) return promotion;
  const what = neutraliseLine(`${promotion.id}, ${promotion.version} to ${promotion.environmentName}`);
  await agree(
    { io, globals },
    {
      refusal: `the approval of ${what} needs confirmation, and there is no terminal to ask on`,
      hint: 'add --yes to approve it without asking',
      question: `Approve ${what}?`,
    },
  );
  return promotion;
}
