/** `svc policies simulate` tells what a document would have refused, and why. */
import { Policies, type Simulation, type SimulatedGate } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { answerOf } from '../shell/operation.ts';
import { isRecord } from '../shell/paths.ts';
import { neutraliseLine } from '../shell/text.ts';
import { isJson } from '../shell/output.ts';

export function simulate(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description}\n\nEnds with 3 when an act would newly be refused, and with 0 otherwise.`,
    exits: [EXIT.refusing],
    run: simulatePolicy,
  };
}

async function simulatePolicy(context: Context): Promise<number> {
  const { input, output } = context;
  const simulation = await answerOf<Simulation>(context);
  if (isJson(output)) await output.value(simulation);
  else await print(context, simulation, input['document']);
  return simulation.newlyDenied > 0 ? EXIT.refusing : EXIT.ok;
}

async function print(context: Context, simulation: Simulation, draft: unknown): Promise<void> {
  const { output } = context;
  const { replayed, newlyDenied, newlyAllowed, errors, truncated, results } = simulation;
  const refused = results.filter((gate) => gate.newlyDenied);
  const messages = refused.length === 0 ? new Map<string, string>() : await messagesOf(context, draft);
  const unjudged = refused.filter(({ now }) => now === 'error').length;
  const because = unjudged === 0 ? '' : `, ${unjudged} of them because they could not be judged`;
  const lines = [
    `${newlyDenied} of ${replayed} would newly be refused${because}`,
    ...refused.map((gate) => `${gate.action} ${gate.subject} of ${gate.at}: ${whyRefused(gate, messages)}`),
  ];
  await output.raw(`${lines.map(neutraliseLine).join('\n')}\n`);
  if (newlyAllowed > 0) await output.note(`${newlyAllowed} would newly be allowed`);
  if (errors > 0) {
    const problem = results.find(({ now }) => now === 'error')?.problem ?? 'the reason is not known';
    await output.note(
      `warning: ${errors} could not be judged, which refuses them under the mode "enforce": ${problem}`,
    );
  }
  if (truncated) await output.note('warning: time was up before all of them were judged');
}

function whyRefused({ now, failed, problem }: SimulatedGate, messages: ReadonlyMap<string, string>): string {
  if (now === 'error') return `could not be judged: ${problem ?? 'the reason is not known'}`;
  return failed.map((id) => messages.get(id) ?? `rule ${id}`).join('; ');
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
