/** `svc policies simulate`: what a document would have refused, and why. */
import { Policies, type Simulation, type SimulatedGate } from '@svc/sdk';
import {
  defineOwn,
  type Context,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { operationOf } from '../shell/operation.ts';
import { isRecord } from '../shell/paths.ts';
import { neutraliseLine } from '../shell/text.ts';
import { documentArg, otherFlags, readDocument } from './document.ts';

const ARGS = {
  document: {
    ...documentArg,
    description: `A draft that is tried in place of the policy's document. ${documentArg.description}`,
  },
} satisfies OwnArgs;

export function simulate(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nEnds with 3 when an act would newly be refused, and with 0 otherwise.`,
    flags: otherFlags(generated),
    args: ARGS,
    examples: [
      {
        title: 'What a draft would have refused',
        cli: 'policies simulate pol_01 --team team_01 --document draft.yaml',
      },
    ],
    run: simulatePolicy,
  });
}

async function simulatePolicy(context: ContextOf<typeof ARGS>): Promise<number> {
  const { args, output, signal } = context;
  const draft = args.document === undefined ? undefined : await readDocument(args.document, context);
  const input = draft === undefined ? context.input : { ...context.input, document: draft };
  const client = await context.client();
  const simulation = await client.call<Simulation>(operationOf(context), input, { signal });
  if (output.format === 'json' || output.format === 'jsonl') await output.value(simulation);
  else await print(context, simulation, input['document']);
  return simulation.newlyDenied > 0 ? EXIT.refusing : EXIT.ok;
}

async function print(context: Context, simulation: Simulation, draft: unknown): Promise<void> {
  const { output } = context;
  const { replayed, newlyDenied, newlyAllowed, errors, truncated, results } = simulation;
  const refused = results.filter(isNewlyRefused);
  const messages = refused.length === 0 ? new Map<string, string>() : await messagesOf(context, draft);
  const lines = [
    `${newlyDenied} of ${replayed} would newly be refused`,
    ...refused.map(
      ({ action, subject, at, failed }) =>
        `${action} ${subject} of ${at}: ${failed.map((id) => messages.get(id) ?? `rule ${id}`).join('; ')}`,
    ),
  ];
  await output.raw(`${lines.map(neutraliseLine).join('\n')}\n`);
  if (newlyAllowed > 0) await output.note(`${newlyAllowed} would newly be allowed`);
  if (errors > 0)
    await output.note(
      `warning: ${errors} could not be judged, which would refuse them under the mode "enforce"`,
    );
  if (truncated) await output.note('warning: time was up before all of them were judged');
}

/** What could not be judged before may have been refused for that already; the answer does not say so. */
function isNewlyRefused({ before, now }: SimulatedGate): boolean {
  return now === 'deny' && before !== 'deny' && before !== 'error';
}

/** Messages of rules by their ids. */
async function messagesOf(context: Context, draft: unknown): Promise<ReadonlyMap<string, string>> {
  const { input, signal } = context;
  const document =
    draft ??
    (
      await new Policies(await context.client()).get(String(input['teamId']), String(input['policyId']), {
        signal,
      })
    ).document;
  const rules = isRecord(document) && Array.isArray(document['rules']) ? document['rules'] : [];
  return new Map(rules.filter(isRecord).map(({ id, message }) => [String(id), String(message)] as const));
}
