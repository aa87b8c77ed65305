/** `svc features companion` */
import type { CompanionFeatures } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';
import { formatRelative } from '../shell/time.ts';
import { isTable, printFeatures } from './rows.ts';

export const companion = (): Own => ({ run: show });

async function show(context: Context): Promise<void> {
  const { output, io, signal } = context;
  const client = await context.client();
  const answer = await client.call<CompanionFeatures>(operationOf(context), {}, { signal });
  if (!isTable(output)) return output.value(answer);
  if (!answer.configured) return output.note('this installation knows no companion service (COMPANION_URL)');
  const asOf = answer.asOf === undefined ? undefined : formatRelative(Date.parse(answer.asOf), io.now());
  // An old answer must not be taken for a present one, in a pipe neither.
  if (answer.degraded)
    await output.note(
      `warning: the companion service does not answer (${answer.problem ?? 'no reason given'}); ${asOf === undefined ? 'it never did' : `this is of ${asOf}`}`,
    );
  else if (asOf !== undefined) await output.progress(`read ${asOf}`);
  if (asOf !== undefined) await printFeatures(output, answer.features);
}
