/** `svc promotions approve`: nobody approves what was not shown. */
import { Promotions, SvcAbortError, SvcApiError, type Promotion } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { agree } from '../shell/confirm.ts';
import { operationOf } from '../shell/operation.ts';
import { neutraliseLine } from '../shell/text.ts';
import { describePreview, describePromotion, environmentFirst } from './command.ts';
import { broughtBy, describeImage, runningAt, type Asking } from './images.ts';
import { comparePackages } from './packages.ts';

export function approve(generated: GeneratedSpec): Own {
  return {
    ...environmentFirst(generated),
    description: `${generated.description}\n\nFirst it shows what changes against what the environment runs now: version and commit, and packages. Then it asks; --yes answers in advance, and is required without a terminal.`,
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
  const { input, output, signal } = context;
  const client = await context.client();
  const promotion = await new Promotions(client).get(
    String(input['environmentId']),
    String(input['promotionId']),
    { signal },
  );
  // What has ended is refused by the server, and needs no question.
  if (promotion.state === 'pending') await review(context, promotion);
  const approved = await client.call<Promotion>(operationOf(context), input, { signal });
  await output.value(approved);
  await output.progress(describePromotion(approved));
}

async function review(context: Context, promotion: Promotion): Promise<void> {
  const { io, globals, output, signal } = context;
  const client = await context.client();
  for (const line of await difference({ client, signal }, promotion)) await output.note(neutraliseLine(line));
  if (globals.yes) return;
  const what = neutraliseLine(`${promotion.id}, ${promotion.version} to ${promotion.environmentName}`);
  await agree(
    { io, globals },
    {
      refusal: `the approval of ${what} needs confirmation, and there is no terminal to ask on`,
      hint: 'add --yes to approve it without asking',
      question: `Approve ${what}?`,
    },
  );
}

/** What cannot be found out is said, and whoever is asked decides. */
async function difference(asking: Asking, promotion: Promotion): Promise<readonly string[]> {
  const { environmentName, id, policyPreview } = promotion;
  const rules = policyPreview === undefined ? [] : describePreview(policyPreview);
  try {
    const brought = await broughtBy(asking, promotion);
    const running = await runningAt(asking, promotion);
    return [
      `${environmentName} runs ${running === undefined ? 'nothing that is known' : describeImage(running)}`,
      `${id} brings ${describeImage(brought)}`,
      ...(running?.artifact === undefined || brought.artifact === undefined
        ? ['packages are not compared: there are not two images']
        : await comparePackages(asking, running.artifact, brought.artifact)),
      ...rules,
    ];
  } catch (error) {
    if (!(error instanceof SvcApiError) || error instanceof SvcAbortError) throw error;
    return [`warning: what changes is not known: ${error.message}`, ...rules];
  }
}
