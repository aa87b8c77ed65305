/** `.buildkite/pipeline.yml` */
import { signOfCommands, signOfName, signsOf, weak, type Signs } from './deploy.ts';
import { at, entriesOf, entryOf, itemsOf, manyOf, textOf, type Node } from './node.ts';
import { pipelineOf, refuse, type JobDraft, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

/** Steps that are no job: they wait for others or for somebody. */
const GATES = ['wait', 'waiter', 'block', 'manual', 'input'];
/** `type:` of steps that are jobs; one may stand without a command. */
const JOBS = ['script', 'command', 'commands', 'trigger'];

export function readBuildkite(reading: Reading): readonly DefinedPipeline[] {
  const [root] = reading.documents;
  // A list of steps alone is allowed too.
  const steps = root?.kind === 'list' ? root : at(root, 'steps');
  if (steps?.kind !== 'list') return refuse(reading, steps ?? root, 'no list of "steps"');
  const signs = signsOf(reading);
  const jobs = steps.items.flatMap((step) => readStep(step, undefined, signs));
  const includes = jobs.flatMap(({ calls }) => calls ?? []);
  const dynamic = hasUpload(steps);
  return [
    pipelineOf(reading, {
      name: textOf(at(root, 'name')),
      jobs,
      // A setting of the pipeline in Buildkite says where builds come from: it has no triggers here.
      signs,
      dynamic,
      partial: dynamic,
      includes,
    }),
  ];
}

function readStep(step: Node, group: string | undefined, signs: Signs): readonly JobDraft[] {
  if (step.kind !== 'map') return [];
  const type = textOf(at(step, 'type')) ?? '';
  const inner = entryOf(step, 'group');
  if (inner !== undefined || type === 'group') {
    const name = textOf(inner?.value) ?? textOf(at(step, 'label')) ?? textOf(at(step, 'name')) ?? 'group';
    signOfName(signs, { kind: 'stage', name, line: inner?.line ?? step.line });
    return itemsOf(at(step, 'steps')).flatMap((item) => readStep(item, name, signs));
  }
  if (GATES.includes(type) || GATES.some((word) => entryOf(step, word) !== undefined)) return [];
  // `- command: {command: …}` nests the step.
  const nested = entriesOf(step).length === 1 ? entriesOf(step)[0] : undefined;
  if (
    nested !== undefined &&
    nested.value.kind === 'map' &&
    /^(?:commands?|script|trigger)$/.test(nested.key)
  )
    return readStep(nested.value, group, signs);
  return readJob(step, group, signs);
}

function readJob(step: Node, group: string | undefined, signs: Signs): readonly JobDraft[] {
  const command = at(step, 'command') ?? at(step, 'commands') ?? at(step, 'script');
  const calls = textOf(at(step, 'trigger'));
  const plugins = at(step, 'plugins');
  const isJob = JOBS.includes(textOf(at(step, 'type')) ?? '');
  if (command === undefined && calls === undefined && plugins === undefined && !isJob) return [];
  const label = at(step, 'label') ?? at(step, 'name');
  const keys = ['key', 'id', 'identifier'].map((word) => textOf(at(step, word)));
  const [first] = manyOf(command);
  const names = [textOf(label), ...keys, calls, textOf(first)?.trimStart().split('\n', 1)[0]];
  // A label may be empty.
  const name = names.find((text) => text !== undefined && text !== '') ?? 'step';
  const disabled = textOf(at(step, 'skip')) !== undefined && textOf(at(step, 'skip')) !== 'false';
  if (!disabled) {
    signOfName(signs, { kind: 'step', name, line: label?.line ?? step.line });
    signOfCommands(signs, command);
    const trigger = entryOf(step, 'trigger');
    if (calls !== undefined && /deploy/i.test(calls))
      weak(signs, trigger?.line ?? step.line, `triggers ${calls}`);
    const lock = entryOf(step, 'concurrency_group');
    if (lock !== undefined && /deploy|release/i.test(textOf(lock.value) ?? ''))
      weak(signs, lock.line, 'one such step at a time, as for an environment');
  }
  const matrix = at(step, 'matrix') !== undefined;
  return [{ name, line: step.line, stage: group, matrix, calls, disabled }];
}

/** Looks for `buildkite-agent pipeline upload`, by which the build itself adds steps. */
function hasUpload(steps: Node): boolean {
  return itemsOf(steps).some((step) => {
    const command = at(step, 'command') ?? at(step, 'commands');
    const uploads = manyOf(command).some((item) => /\bpipeline\s+upload\b/.test(textOf(item) ?? ''));
    return (
      uploads || hasUpload(at(step, 'steps') ?? { kind: 'list', items: [], line: 1, column: 1, endLine: 1 })
    );
  });
}
