/** `svc promotions create` */
import { Promotions, type Promotion } from '@svc/sdk';
import { patience, watch } from '../follow/watch.ts';
import {
  defineOwn,
  type Context,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';
import { neutraliseLine } from '../shell/text.ts';
import {
  describePreview,
  describePromotion,
  environmentFirst,
  exitCodeOfPromotion,
  isOver,
  stageOf,
} from './command.ts';

const ARGS = {
  wait: { type: 'boolean', alias: 'w', description: 'Wait for the promotion to end, then print it.' },
  artifactId: {
    type: 'string',
    flag: 'artifact',
    description: 'Image of the release that is deployed, where it has several.',
  },
} satisfies OwnArgs;

export function create(generated: GeneratedSpec): Own {
  const { positionals, flags } = environmentFirst(generated);
  return defineOwn({
    description: `${generated.description}\n\nWith --wait it ends with 0 only when the release was deployed, with 8 when the promotion has not ended within --timeout, and with 1 otherwise. Interrupting it leaves the promotion as it is.`,
    positionals,
    // The longer spelling of --artifact goes on to work.
    flags: flags.map((field) => (field.name === 'artifactId' ? { ...field, hidden: true } : field)),
    args: ARGS,
    examples: [
      { title: 'A release to production', cli: 'promotions create env_01 rel_01' },
      {
        title: 'And wait for its end',
        cli: 'promotions create env_01 rel_01 --wait --timeout 1h',
      },
    ],
    waits: true,
    run: createPromotion,
  });
}

async function createPromotion(context: ContextOf<typeof ARGS>): Promise<number> {
  const { args, output, io } = context;
  const { artifactId } = args;
  const image = artifactId === undefined ? {} : { artifactId };
  const patient = patience(context);
  const promotion = await answerOf<Promotion>(
    context,
    { ...context.input, ...image },
    { signal: io.interrupted },
  );
  const { policyPreview } = promotion;
  for (const line of policyPreview === undefined ? [] : describePreview(policyPreview))
    await output.note(neutraliseLine(line));
  if (args.wait !== true) {
    await output.value(promotion);
    await output.note(describePromotion(promotion));
    return 0;
  }
  const promotions = new Promotions(await context.client());
  const watched = {
    start: promotion,
    get: async (signal: AbortSignal) =>
      await promotions.get(promotion.environmentId, promotion.id, { signal }),
    isOver,
    stage: stageOf,
    describe: describePromotion,
  };
  try {
    const last = await watch(context, watched, patient);
    await output.value(last);
    await output.progress(describePromotion(last));
    if (!isOver(last)) await noteGoesOn(context, last);
    return exitCodeOfPromotion(last);
  } catch (error) {
    // The id may not have been shown yet, and it is what everything else needs.
    await noteGoesOn(context, promotion);
    throw error;
  }
}

async function noteGoesOn({ output }: Context, { id, environmentId }: Promotion): Promise<void> {
  await output.note(`the promotion goes on; "svc promotions get ${id} --env ${environmentId}" shows it`);
}
