/** Reads `azure-pipelines.yml`: stages with jobs, jobs alone, or the steps of one job. */
import {
  certain,
  signOfCommands,
  signOfName,
  signOfPart,
  signsOf,
  strong,
  type NamedPart,
  type Signs,
} from './deploy.ts';
import { at, entriesOf, entryOf, itemsOf, textOf, type Entry, type Node } from './node.ts';
import { pipelineOf, refuse, rootOf, type JobDraft, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

interface ReadPipeline {
  readonly signs: Signs;
  readonly jobs: JobDraft[];
  readonly includes: string[];
}

export function readAzure(reading: Reading): readonly DefinedPipeline[] {
  const root = rootOf(reading);
  if (root === undefined) return [];
  const found: ReadPipeline = { signs: signsOf(reading), jobs: [], includes: [] };
  const extended = at(root, 'extends');
  if (!readParts(root, found) && extended === undefined)
    return refuse(reading, root, 'none of "stages", "jobs", "steps" and "extends"');
  for (const { value: template } of withConditions(extended, 'template')) {
    const name = textOf(template);
    if (name !== undefined) found.includes.push(name);
  }
  for (const { value: parameters } of withConditions(extended, 'parameters'))
    for (const part of partsOf(parameters)) readParts(part, found);
  return [
    pipelineOf(reading, {
      // `name` of the file is the format of build numbers, not a name.
      ...found,
      triggers: triggersOf(root),
      partial: extended !== undefined || found.includes.length > 0,
    }),
  ];
}

/**
 * Reads stages, jobs or steps of the file, or of what it gives to the template that it extends; returns false
 * where there are none.
 */
function readParts(root: Node, found: ReadPipeline): boolean {
  const stages = at(root, 'stages');
  // Once, jobs were phases.
  const jobs = at(root, 'jobs') ?? at(root, 'phases');
  const steps = entryOf(root, 'steps');
  if (stages !== undefined) for (const stage of flat(stages)) readStage(stage, found);
  else if (jobs !== undefined)
    for (const job of flat(jobs)) readJob(job, { name: undefined, isOff: false }, found);
  else if (steps !== undefined) {
    // Azure calls the one job of a file that has steps alone `Job`.
    const matrix = at(root, 'strategy', 'matrix') !== undefined;
    found.jobs.push({ name: 'Job', line: steps.line, matrix });
    readSteps(steps.value, found);
  }
  return (stages ?? jobs ?? steps) !== undefined;
}

/** Returns a map and those in it whose keys are conditions: `${{ if … }}:`. */
function partsOf(node: Node | undefined): readonly Node[] {
  if (node?.kind !== 'map') return [];
  const conditions = entriesOf(node).filter(({ key }) => key.startsWith('${{'));
  return [node, ...conditions.flatMap(({ value }) => partsOf(value))];
}

function withConditions(node: Node | undefined, key: string): readonly Entry[] {
  return partsOf(node).flatMap((part) => entryOf(part, key) ?? []);
}

/** No `trigger` at all is one on every branch. */
function triggersOf(root: Node): readonly string[] {
  const isOn = (key: string): boolean => {
    const written = at(root, key);
    // `[none]` is `none`.
    const node = itemsOf(written).length === 1 ? itemsOf(written)[0] : written;
    return node !== undefined && textOf(node) !== 'none' && !(node.kind === 'scalar' && node.value === null);
  };
  const triggers = at(root, 'trigger') === undefined || isOn('trigger') ? ['push'] : [];
  if (isOn('pr')) triggers.push('pr');
  if (isOn('schedules')) triggers.push('schedule');
  const upstream = itemsOf(at(root, 'resources', 'pipelines'));
  if (upstream.some((pipeline) => at(pipeline, 'trigger') !== undefined)) triggers.push('pipeline');
  return triggers.length > 0 ? triggers : ['manual'];
}

/** Returns items of a list, those under `${{ if … }}:` too, whose keys are conditions. */
function flat(list: Node | undefined): readonly Node[] {
  return itemsOf(list).flatMap((item) => {
    const conditions = entriesOf(item).filter(({ key }) => key.startsWith('${{'));
    return conditions.length > 0 && conditions.length === entriesOf(item).length
      ? conditions.flatMap(({ value }) => flat(value))
      : [item];
  });
}

function isOff(node: Node): boolean {
  return /^(?:false|never\(\))$/i.test(textOf(at(node, 'condition'))?.trim() ?? '');
}

/** True when the item is a template, whose file is somewhere else. */
function isTemplate(item: Node, { includes }: ReadPipeline): boolean {
  const template = textOf(at(item, 'template'));
  if (template !== undefined) includes.push(template);
  return template !== undefined;
}

function readStage(stage: Node, found: ReadPipeline): void {
  if (isTemplate(stage, found)) return;
  const name = textOf(at(stage, 'stage'));
  if (!isOff(stage)) signOfNames(stage, { kind: 'stage', name }, found.signs);
  for (const job of flat(at(stage, 'jobs'))) readJob(job, { name, isOff: isOff(stage) }, found);
}

interface Stage {
  readonly name: string | undefined;
  readonly isOff: boolean;
}

function readJob(job: Node, { name: stage, isOff: isStageOff }: Stage, found: ReadPipeline): void {
  if (isTemplate(job, found)) return;
  const deployment = entryOf(job, 'deployment');
  const entry = deployment ?? entryOf(job, 'job') ?? entryOf(job, 'phase');
  if (entry === undefined) return;
  const name = textOf(entry.value) || textOf(at(job, 'displayName')) || 'Job';
  const disabled = isStageOff || isOff(job);
  if (!disabled) {
    const { signs } = found;
    if (deployment !== undefined) certain(signs, deployment.line, `${name} is a deployment job`);
    const environment = entryOf(job, 'environment');
    if (environment !== undefined) certain(signs, environment.line, `the job ${name} has an environment`);
    signOfNames(job, { kind: 'job', name }, signs);
    readSteps(at(job, 'steps'), found);
    for (const { value: strategy } of entriesOf(at(job, 'strategy')))
      for (const hook of entriesOf(strategy)) {
        readSteps(at(hook.value, 'steps'), found);
        for (const { value } of entriesOf(hook.value)) readSteps(at(value, 'steps'), found);
      }
  }
  const matrix = at(job, 'strategy', 'matrix') !== undefined;
  found.jobs.push({ name, line: entry.line, stage, matrix, disabled });
}

function readSteps(steps: Node | undefined, found: ReadPipeline): void {
  const { signs } = found;
  for (const step of flat(steps)) {
    if (isTemplate(step, found) || isOff(step) || textOf(at(step, 'enabled')) === 'false') continue;
    signOfNames(step, { kind: 'step', name: undefined }, signs);
    for (const key of ['script', 'bash', 'pwsh', 'powershell']) signOfCommands(signs, at(step, key));
    const task = at(step, 'task');
    if (task === undefined) continue;
    signOfPart(signs, textOf(task), task.line);
    const name = textOf(task) ?? '';
    const command = at(step, 'inputs', 'command');
    if (/^Kubernetes@/i.test(name) && /^(?:apply|set|rollout)$/.test(textOf(command) ?? ''))
      strong(signs, command?.line ?? task.line, `${name} with ${textOf(command)}`);
    if (/^Terraform\w*@/i.test(name) && textOf(command) === 'apply')
      strong(signs, command?.line ?? task.line, `${name} with apply`);
    for (const key of ['script', 'inline', 'inlineScript']) signOfCommands(signs, at(step, 'inputs', key));
  }
}

function signOfNames(node: Node, { kind, name }: Omit<NamedPart, 'line'>, signs: Signs): void {
  signOfName(signs, { kind, name, line: node.line });
  signOfName(signs, { kind, name: at(node, 'displayName'), line: node.line });
}
