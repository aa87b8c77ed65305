/** `svc features list` */
import type { PlatformFeature } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';
import { isTable } from './rows.ts';

/**
 * The columns that people look for, in the width of a small terminal: the reason says whether it is enabled,
 * too.
 */
const FOR_PEOPLE = ['key', 'state', 'reason', 'blockedBy', 'lifecycle', 'visibility'] as const;

export const list = (): Own => ({ run: show });

async function show(context: Context): Promise<void> {
  const { spec, output, signal } = context;
  const client = await context.client();
  const features = await client.call<PlatformFeature[]>(operationOf(context), {}, { signal });
  if (!isTable(output)) return output.value(features);
  await output.rows([features], output.format === 'table' ? FOR_PEOPLE : spec.columns);
}
