/** `svc features resolved` */
import type { ResolvedFeature } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';
import { isTable, printFeatures } from './rows.ts';

export const resolved = (): Own => ({ run: show });

async function show(context: Context): Promise<void> {
  const { output, signal } = context;
  const client = await context.client();
  const features = await client.call<Record<string, ResolvedFeature>>(operationOf(context), {}, { signal });
  if (!isTable(output)) return output.value(features);
  await printFeatures(output, features);
  if (Object.values(features).every((feature) => typeof feature !== 'object'))
    await output.progress('this is what everybody sees: what is enabled and public; staff see the rest too');
}
