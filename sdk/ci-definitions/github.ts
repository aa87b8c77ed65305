/** `.github/workflows/*.yml` */
import { certain, signOfCommands, signOfName, signOfPart, signsOf, type Signs } from './deploy.ts';
import { at, entriesOf, entryOf, itemsOf, textOf, wordsOf, type Entry, type Node } from './node.ts';
import { pipelineOf, refuse, rootOf, warn, type JobDraft, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

export function readGithub(reading: Reading): readonly DefinedPipeline[] {
  const root = rootOf(reading);
  if (root === undefined) return [];
  const jobs = at(root, 'jobs');
  // YAML 1.1 reads `on` as true.
  const on = at(root, 'on') ?? at(root, 'true');
  if (jobs?.kind !== 'map' || jobs.entries.length === 0)
    return refuse(reading, jobs ?? root, 'no "jobs": a file without jobs is not a workflow');
  if (on === undefined) warn(reading, root, 'no "on": nothing starts this workflow');
  for (const entry of jobs.entries)
    if (entry.value.kind !== 'map') refuse(reading, entry.value, `the job "${entry.key}" is not a map`);
  findMerges(reading, root);
  const signs = signsOf(reading);
  const found = jobs.entries.map((entry) => readJob(entry, signs));
  const includes = found.flatMap(({ calls }) => calls ?? []);
  return [
    pipelineOf(reading, {
      name: textOf(at(root, 'name')),
      jobs: found,
      triggers: wordsOf(on),
      signs,
      partial: includes.length > 0,
      includes,
    }),
  ];
}

function readJob({ key, line, value: job }: Entry, signs: Signs): JobDraft {
  const disabled = isNever(at(job, 'if'));
  const calls = textOf(at(job, 'uses'));
  if (!disabled) {
    const environment = entryOf(job, 'environment');
    if (environment !== undefined && isNamed(environment.value))
      certain(signs, environment.line, `the job ${key} has an environment`);
    signOfName(signs, { kind: 'job', name: key, line });
    signOfName(signs, { kind: 'job', name: at(job, 'name'), line });
    signOfPart(signs, calls, at(job, 'uses')?.line ?? line);
    for (const step of itemsOf(at(job, 'steps'))) readStep(step, signs);
  }
  return { name: key, line, matrix: at(job, 'strategy', 'matrix') !== undefined, calls, disabled };
}

function readStep(step: Node, signs: Signs): void {
  if (isNever(at(step, 'if'))) return;
  signOfName(signs, { kind: 'step', name: at(step, 'name'), line: step.line });
  const uses = at(step, 'uses');
  signOfPart(signs, textOf(uses), uses?.line ?? step.line);
  signOfCommands(signs, at(step, 'run'));
  if (/^azure\/(?:cli|powershell)@/i.test(textOf(uses) ?? ''))
    signOfCommands(signs, at(step, 'with', 'inlineScript'));
}

function isNamed(environment: Node): boolean {
  return textOf(environment) !== undefined || textOf(at(environment, 'name')) !== undefined;
}

function isNever(condition: Node | undefined): boolean {
  return /^(?:\$\{\{\s*)?false(?:\s*\}\})?$/.test(textOf(condition)?.trim() ?? '');
}

/** GitHub knows anchors and aliases, and refuses merge keys. */
function findMerges(reading: Reading, root: Node): void {
  const seen = new Set<Node>();
  const visit = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === 'map' && node.hasMerge === true)
      refuse(reading, node, 'the merge key "<<", which GitHub refuses');
    for (const { value } of entriesOf(node)) visit(value);
    for (const item of itemsOf(node)) visit(item);
  };
  visit(root);
}
