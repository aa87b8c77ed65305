/**
 * Reads `bitbucket-pipelines.yml` into one record for the file, whose triggers are the sections of
 * `pipelines`.
 */
import { certain, signOfCommands, signOfName, signOfPart, signsOf, type Signs } from './deploy.ts';
import { shorten } from './lines.ts';
import { at, entriesOf, entryOf, itemsOf, textOf, type Node } from './node.ts';
import { pipelineOf, refuse, rootOf, type JobDraft, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

export function readBitbucket(reading: Reading): readonly DefinedPipeline[] {
  const root = rootOf(reading);
  if (root === undefined) return [];
  const own = entriesOf(at(root, 'pipelines'));
  // These are imported by other repositories; a file that is there for them may have none of its own.
  const exported =
    textOf(at(root, 'export')) === 'true' ? entriesOf(at(root, 'definitions', 'pipelines')) : [];
  const sections = [...own, ...exported];
  if (sections.length === 0) return refuse(reading, at(root, 'pipelines') ?? root, 'no "pipelines"');
  const signs = signsOf(reading);
  const jobs: JobDraft[] = [];
  const includes: string[] = [];
  for (const { key, value } of sections) {
    // `default` is a list of its own; the others have one per branch, tag or name.
    const lists = value.kind === 'map' ? value.entries : [{ key, value }];
    for (const list of lists) {
      const imported = textOf(at(list.value, 'import'));
      if (imported !== undefined) includes.push(imported);
      for (const item of itemsOf(list.value)) jobs.push(...readItem(item, undefined, signs));
    }
  }
  // An exported pipeline starts where it is imported.
  const triggers = own.map(({ key }) => key);
  const partial = includes.length > 0;
  return [pipelineOf(reading, { jobs, triggers, signs, partial, includes })];
}

/** Reads `step`, `parallel` with a list or with `steps`, or `stage` with `steps`. */
function readItem(item: Node, stage: Node | undefined, signs: Signs): readonly JobDraft[] {
  const parallel = at(item, 'parallel');
  const inner = at(item, 'stage');
  if (parallel !== undefined) return stepsOf(parallel).flatMap((step) => readItem(step, stage, signs));
  if (inner !== undefined) {
    signOfEnvironment(inner, signs);
    signOfName(signs, { kind: 'stage', name: at(inner, 'name'), line: inner.line });
    return stepsOf(inner).flatMap((step) => readItem(step, inner, signs));
  }
  const step = entryOf(item, 'step');
  return step === undefined ? [] : [readStep({ step: step.value, line: step.line, stage }, signs)];
}

interface PlacedStep {
  readonly step: Node;
  readonly line: number;
  readonly stage: Node | undefined;
}

function readStep({ step, line, stage }: PlacedStep, signs: Signs): JobDraft {
  const name = at(step, 'name');
  signOfEnvironment(step, signs);
  signOfName(signs, { kind: 'step', name, line });
  for (const key of ['script', 'after-script'])
    for (const command of itemsOf(at(step, key))) {
      const pipe = at(command, 'pipe');
      if (pipe === undefined) signOfCommands(signs, command);
      else signOfPart(signs, textOf(pipe)?.replace(/:[^:/]*$/, ''), pipe.line);
    }
  // Bitbucket itself calls a step without a name so.
  return { name: textOf(name) ?? 'Step', line, stage: textOf(at(stage, 'name')) };
}

function signOfEnvironment(node: Node, signs: Signs): void {
  const deployment = at(node, 'deployment');
  if (textOf(deployment) !== undefined)
    certain(signs, deployment?.line ?? node.line, `a deployment to ${shorten(textOf(deployment) ?? '')}`);
}

function stepsOf(node: Node): readonly Node[] {
  return node.kind === 'list' ? node.items : itemsOf(at(node, 'steps'));
}
