/** `.drone.yml`: one pipeline per document of that kind. */
import { sign, signOfCommands, signOfName } from './deploy.ts';
import { at, itemsOf, textOf, wordsOf, type Node } from './node.ts';
import { newSigns, pipelineOf, problem, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

export function readDrone(reading: Reading): readonly DefinedPipeline[] {
  const pipelines = reading.documents.filter((document) => textOf(at(document, 'kind')) === 'pipeline');
  if (pipelines.length === 0)
    problem(reading, reading.documents[0], 'error', 'no document of the kind "pipeline"');
  return pipelines.map((document) => readPipeline(reading, document));
}

function readPipeline(reading: Reading, document: Node): DefinedPipeline {
  const signs = newSigns(reading);
  const event = at(document, 'trigger', 'event');
  const included = at(event, 'include');
  const triggers = event?.kind === 'map' ? wordsOf(included) : wordsOf(event);
  if (triggers.some((word) => word === 'promote' || word === 'rollback'))
    sign(signs, event?.line ?? document.line, 'certain', 'runs when a build is promoted or rolled back');
  signOfName(signs, 'job', textOf(at(document, 'name')), at(document, 'name')?.line ?? document.line);
  const jobs = itemsOf(at(document, 'steps')).map((step, index) => {
    const name = textOf(at(step, 'name')) ?? `step-${index + 1}`;
    signOfName(signs, 'step', name, step.line);
    signOfCommands(signs, at(step, 'commands'));
    const targets = wordsOf(at(step, 'when', 'event'));
    if (targets.includes('promote')) sign(signs, step.line, 'certain', 'runs when a build is promoted');
    const image = at(step, 'image');
    if (
      /(?:^|\/)[\w-]*(?:drone-(?:helm3?|kubectl|kubernetes|scp|ssh|ecs-deploy|gae|gcf|cloud-run|s3-sync|ansible|rancher|heroku)|plugins\/(?:ansible|gae|ecs|heroku|s3-sync|netlify))(?::|$)/.test(
        textOf(image) ?? '',
      )
    )
      sign(signs, image?.line ?? step.line, 'strong', `the plugin ${textOf(image)}`);
    return { name, line: step.line };
  });
  // Drone itself calls a pipeline without a name so.
  return pipelineOf(reading, { name: textOf(at(document, 'name')) ?? 'default', jobs, triggers, signs });
}
