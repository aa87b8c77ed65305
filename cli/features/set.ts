/**
 * `svc features set` switches a feature. The server decides whether a reason is needed, and which: the
 * command line only passes on what was given, so that a missing one is its `reason_required` and not a second
 * rule beside it.
 */
import type {
  AffectedFeature,
  PlatformFeature,
  PlatformFeaturesSetStateResponse,
  SvcApiError,
} from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { forgetFeatures } from '../shell/feature-cache.ts';
import { answerOf } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';
import { getPath, isRecord } from '../shell/paths.ts';

export function set(generated: GeneratedSpec): Own {
  return {
    description: [
      'Switches a feature on or off, for every team at once. A change needs a --reason, which is kept for ever and shown to all staff. Setting the state that it has already changes nothing and leaves no history.',
      'A feature whose dependency is off can be switched on, but cannot be used until the dependency can. Switching one off takes everything along that depends on it. Prints every feature whose effective state changes with it, before and after; --dry-run only tells which would.',
      'With --revision, as "svc features get" shows it, the change is refused when somebody else was faster.',
    ].join('\n\n'),
    positionals: generated.positionals.map((field) =>
      field.values === undefined ? field : { ...field, placeholder: field.values.join('|') },
    ),
    examples: [
      ...generated.examples,
      { title: 'See first what it would switch off', cli: 'features set host.runners disabled --dry-run' },
    ],
    run: setState,
    advice,
  };
}

async function setState(context: Context): Promise<void> {
  const { input, output, io } = context;
  const answer = await answerOf<PlatformFeaturesSetStateResponse>(context);
  const isDry = input['dryRun'] === true;
  if (!isDry && answer.changed) await forgetFeatures(io);
  if (isJson(output)) return output.value(answer);
  const summary = summaryOf(answer, isDry);
  // On a terminal the sentence is half of the result, in a pipe the rows are all of it.
  if (output.format === 'table') await output.note(summary);
  else await output.progress(summary);
  if (answer.affected.length > 0 || output.format === 'tsv')
    await output.rows([answer.affected.map(row)], ['key', 'before', 'after', 'blockedBy']);
}

function row({ key, enabledBefore, enabledAfter, reasonBefore, reasonAfter, blockedBy }: AffectedFeature) {
  return {
    key,
    before: stateOf(enabledBefore, reasonBefore),
    after: stateOf(enabledAfter, reasonAfter),
    blockedBy,
  };
}

function stateOf(enabled: boolean, reason: string): string {
  return enabled ? 'enabled' : reason;
}

function summaryOf({ feature, affected, changed }: PlatformFeaturesSetStateResponse, isDry: boolean): string {
  const { key, state, revision } = feature;
  if (!changed) return `${key} is ${state} already; nothing ${isDry ? 'would change' : 'was changed'}`;
  const features = `${affected.length} ${affected.length === 1 ? 'feature' : 'features'}`;
  const head = isDry
    ? `dry run, nothing was written: with ${key} ${state}, ${features} would change`
    : `${key} is ${state} now (revision ${revision}); ${features} changed`;
  const stays = state === 'enabled' && !feature.enabled;
  return stays ? `${head}; it cannot be used ${isDry ? '' : 'yet '}because of ${blockers(feature)}` : head;
}

function blockers({ reason, blockedBy }: PlatformFeature): string {
  return blockedBy.length === 0 ? reason : `${blockedBy.join(', ')} (${reason})`;
}

/** It returns advice about a refusal; the message itself is the server's. */
function advice(error: SvcApiError): readonly string[] {
  if (error.code === 'reason_required')
    return ['say why with --reason "...", or see what it would change with --dry-run'];
  if (error.code !== 'precondition_failed') return [];
  const current = isRecord(error.body) ? getPath(error.body, 'error.details.current') : undefined;
  if (!isRecord(current)) return ['somebody else changed it in the meantime; look at "svc features get"'];
  const text = (path: string): string => String(getPath(current, path) ?? '?');
  const by =
    getPath(current, 'lastChange') === undefined
      ? ''
      : `, by ${text('lastChange.actor.display')} at ${text('lastChange.at')}: ${text('lastChange.reason')}`;
  return [
    `somebody else changed it in the meantime: it is ${text('state')} at revision ${text('revision')}${by}`,
    `if you still want your change, repeat it with --revision ${text('revision')}`,
  ];
}
