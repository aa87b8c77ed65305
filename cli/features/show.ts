/**
 * Shows features as rows of a table for `svc features list`, `resolved` and `companion`. Resolved ones are a
 * map: what staff are shown, or the bare `true` that everybody else is shown.
 */
import type { CompanionFeatures, PlatformFeature, ResolvedFeature } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';
import { isJson, type Output } from '../shell/output.ts';
import { formatRelative } from '../shell/time.ts';

/**
 * The columns that people look for, in the width of a small terminal: the reason says whether it is enabled,
 * too.
 */
const FOR_PEOPLE = ['key', 'state', 'reason', 'blockedBy', 'lifecycle', 'visibility'] as const;

export const list = (): Own => ({ run: showList });

async function showList(context: Context): Promise<void> {
  const { spec, output } = context;
  const features = await answerOf<PlatformFeature[]>(context, {});
  if (isJson(output)) return output.value(features);
  await output.rows([features], output.format === 'table' ? FOR_PEOPLE : spec.columns);
}

const COLUMNS = ['key', 'enabled', 'reason', 'blockedBy', 'lifecycle', 'visibility'] as const;
/** All there is to say to those who see `true` alone. */
const BARE_COLUMNS = ['key', 'enabled'] as const;

type FeatureMap = Readonly<Record<string, ResolvedFeature>>;

/** Prints the features in the order of the answer, which is that of the manifest. */
async function printFeatures(output: Output, features: FeatureMap): Promise<void> {
  const rows = Object.entries(features).map(([key, feature]) =>
    typeof feature === 'object' ? { key, ...feature } : { key, enabled: feature },
  );
  const isBare = rows.every((row) => !('reason' in row));
  // Programs get the same columns whoever asks.
  await output.rows([rows], output.format === 'table' && isBare ? BARE_COLUMNS : COLUMNS);
}

export const resolved = (): Own => ({ run: showResolved });

async function showResolved(context: Context): Promise<void> {
  const { output } = context;
  const features = await answerOf<Record<string, ResolvedFeature>>(context, {});
  if (isJson(output)) return output.value(features);
  await printFeatures(output, features);
  if (Object.values(features).every((feature) => typeof feature !== 'object'))
    await output.progress('this is what everybody sees: what is enabled and public; staff see the rest too');
}

export const companion = (): Own => ({ run: showCompanion });

async function showCompanion(context: Context): Promise<void> {
  const { output, io } = context;
  const answer = await answerOf<CompanionFeatures>(context, {});
  if (isJson(output)) return output.value(answer);
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
