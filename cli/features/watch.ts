/**
 * `svc features watch` follows a stream. It says that something changed, not what, so the list is read again
 * at each event and compared. As JSON the events come as the API sends them.
 */
import { PlatformFeatures, type FeaturesChanged, type PlatformFeature, type Client } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { cellForPrograms } from '../shell/cells.ts';
import { operationOf } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';
import { neutraliseLine } from '../shell/text.ts';

export function watch(): Own {
  return {
    description:
      'Shows changes of features as they come, one line for each feature whose effective state or switch changed, until it is interrupted. With --json the events as the API sends them: that there is a new revision, not what changed.',
    run: follow,
  };
}

async function follow(context: Context): Promise<void> {
  const { input, output, signal } = context;
  const client = await context.client();
  const events = client.stream<FeaturesChanged>(operationOf(context), input, { signal });
  if (isJson(output)) {
    for await (const event of events) await output.item(event);
    return;
  }
  let known: ReadonlyMap<string, PlatformFeature> | undefined;
  for await (const { revision } of events) {
    const features = await readAll(client, signal);
    if (known === undefined)
      await output.progress(`at revision ${revision}, waiting for changes; Ctrl-C ends`);
    else await printChanges(context, known, features);
    known = features;
  }
}

async function readAll(client: Client, signal: AbortSignal): Promise<ReadonlyMap<string, PlatformFeature>> {
  const features = await new PlatformFeatures(client).list({ signal });
  return new Map(features.map((feature) => [feature.key, feature]));
}

async function printChanges(
  { output }: Context,
  before: ReadonlyMap<string, PlatformFeature>,
  now: ReadonlyMap<string, PlatformFeature>,
): Promise<void> {
  for (const feature of now.values()) {
    const was = before.get(feature.key);
    if (was !== undefined && stateOf(was) === stateOf(feature) && was.revision === feature.revision) continue;
    await output.raw(`${lineOf(was, feature, output.format === 'tsv')}\n`);
  }
}

/** The word that says both whether it can be used and why not. */
function stateOf({ enabled, reason }: PlatformFeature): string {
  return enabled ? 'enabled' : reason;
}

function lineOf(was: PlatformFeature | undefined, feature: PlatformFeature, forPrograms: boolean): string {
  const { key, blockedBy, revision, lastChange } = feature;
  const before = was === undefined ? 'unknown' : stateOf(was);
  const after = stateOf(feature);
  // Only the feature whose own switch was moved has a change to tell of; the others follow.
  const moved = was?.revision === revision ? undefined : lastChange;
  if (forPrograms)
    return [key, before, after, blockedBy, moved?.actor.display, moved?.reason]
      .map((cell) => cellForPrograms(cell))
      .join('\t');
  const blocked = blockedBy.length === 0 ? '' : ` by ${blockedBy.join(', ')}`;
  const why = moved === undefined ? '' : `  (${moved.actor.display}: ${moved.reason})`;
  return neutraliseLine(`${key}  ${before} -> ${after}${blocked}${why}`);
}
