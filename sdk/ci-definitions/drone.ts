/** Reads `.drone.yml` into one pipeline per document of that kind. */
import { certain, NAME_MAX, signOfCommands, signOfName, signsOf, strong } from './deploy.ts';
import { shorten } from './lines.ts';
import { at, itemsOf, textOf, wordsOf, type Node } from './node.ts';
import { pipelineOf, refuse, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

export function readDrone(reading: Reading): readonly DefinedPipeline[] {
  const pipelines = reading.documents.flatMap((document) => {
    const kind = textOf(at(document, 'kind'));
    if (kind === 'pipeline') return [readPipeline(reading, document)];
    return kind === 'template' ? [readTemplate(reading, document)] : [];
  });
  if (pipelines.length === 0) refuse(reading, reading.documents[0], 'no document of the kind "pipeline"');
  return pipelines;
}

/** The pipeline is in another file, of another repository as a rule. */
function readTemplate(reading: Reading, document: Node): DefinedPipeline {
  const load = textOf(at(document, 'load'));
  return pipelineOf(reading, {
    name: textOf(at(document, 'name')),
    opaque: true,
    partial: true,
    ...(load !== undefined && { includes: [load] }),
  });
}

/** Reads `event: [push]`, or `event: {include: [push], exclude: [tag]}`. */
function eventsOf(event: Node | undefined): readonly string[] {
  return wordsOf(event?.kind === 'map' ? at(event, 'include') : event);
}

const isPromotion = (event: string): boolean => event === 'promote' || event === 'rollback';

function readPipeline(reading: Reading, document: Node): DefinedPipeline {
  const signs = signsOf(reading);
  const event = at(document, 'trigger', 'event');
  const triggers = eventsOf(event);
  if (triggers.some(isPromotion))
    certain(signs, event?.line ?? document.line, 'runs when a build is promoted or rolled back');
  signOfName(signs, { kind: 'job', name: at(document, 'name'), line: document.line });
  const jobs = itemsOf(at(document, 'steps')).map((step, index) => {
    const name = textOf(at(step, 'name')) ?? `step-${index + 1}`;
    signOfName(signs, { kind: 'step', name, line: step.line });
    signOfCommands(signs, at(step, 'commands'));
    if (eventsOf(at(step, 'when', 'event')).some(isPromotion))
      certain(signs, step.line, 'runs when a build is promoted or rolled back');
    const image = at(step, 'image');
    if (
      /(?:^|\/)[\w-]*(?:drone-(?:helm3?|kubectl|kubernetes|scp|ssh|ecs-deploy|gae|gcf|cloud-run|s3-sync|ansible|rancher|heroku)|plugins\/(?:ansible|gae|ecs|heroku|s3-sync|netlify))(?::|$)/.test(
        textOf(image)?.slice(0, NAME_MAX) ?? '',
      )
    )
      strong(signs, image?.line ?? step.line, `the plugin ${shorten(textOf(image) ?? '')}`);
    return { name, line: step.line };
  });
  // Drone itself calls a pipeline without a name so.
  return pipelineOf(reading, { name: textOf(at(document, 'name')) ?? 'default', jobs, triggers, signs });
}
