/** `.gitlab-ci.yml` */
import { sign, signOfCommands, signOfName, type Signs } from './deploy.ts';
import { at, entriesOf, itemsOf, manyOf, textOf, wordsOf, type Entry, type Node } from './node.ts';
import { newSigns, pipelineOf, problem, type Reading } from './reading.ts';
import type { DefinedJob, DefinedPipeline } from './types.ts';

const RESERVED = new Set([
  'default',
  'stages',
  'types',
  'variables',
  'workflow',
  'image',
  'services',
  'cache',
  'before_script',
  'after_script',
  'include',
  'spec',
]);
/** Levels of `extends` and of `!reference`; GitLab allows 11 and 10. */
const LEVELS_MAX = 11;
/** Templates that are looked through for one key of one job. */
const PARENTS_MAX = 100;

export function readGitlab(reading: Reading): readonly DefinedPipeline[] {
  const [first, second] = reading.documents;
  // A header of inputs comes in a document of its own.
  const hasHeader = second !== undefined && at(first, 'spec') !== undefined;
  const root = hasHeader ? second : first;
  if (root?.kind !== 'map') {
    problem(reading, root, 'error', 'the file holds no map of jobs');
    return [];
  }
  const extra = reading.documents[hasHeader ? 2 : 1];
  if (extra !== undefined) problem(reading, extra, 'warning', 'this document does not count');
  const includes = manyOf(at(root, 'include')).flatMap(includeOf);
  const entries = root.entries.filter(({ key }) => !RESERVED.has(key) && !key.startsWith('.'));
  const signs = newSigns(reading);
  const jobs: DefinedJob[] = [];
  const rules = at(root, 'workflow', 'rules');
  const triggers = conditionsOf(root, rules);
  for (const entry of entries) {
    if (entry.value.kind !== 'map') {
      problem(reading, entry.value, 'error', `the job "${entry.key}" is not a map`);
      continue;
    }
    jobs.push(readJob(root, entry, signs));
    // What the workflow says is what starts anything at all.
    triggers.push(...startsOf(root, entry.value).filter((word) => word !== 'push' || rules === undefined));
  }
  if (jobs.length === 0 && includes.length === 0) {
    problem(reading, root, 'error', 'no job and no include');
    return [];
  }
  const name = textOf(at(root, 'workflow', 'name'));
  return [
    pipelineOf(reading, {
      name,
      jobs,
      triggers: triggers.length > 0 ? triggers : ['push'],
      signs,
      partial: includes.length > 0,
      includes: [...includes, ...jobs.flatMap(({ calls }) => calls ?? [])],
    }),
  ];
}

function readJob(root: Node, { key, line, value: job }: Entry, signs: Signs): DefinedJob {
  const stage = textOf(effective(root, job, 'stage'));
  const trigger = effective(root, job, 'trigger');
  const disabled = textOf(effective(root, job, 'when')) === 'never';
  if (!disabled) {
    const environment = effective(root, job, 'environment');
    const ends = /^(?:stop|verify|access)$/.test(textOf(effective(root, job, 'environment', 'action')) ?? '');
    const isNamed =
      textOf(environment) !== undefined || effective(root, job, 'environment', 'name') !== undefined;
    if (environment !== undefined && isNamed && !ends)
      sign(signs, environment.line, 'certain', `the job ${key} has an environment`);
    if (key === 'pages' && textOf(at(job, 'pages')) !== 'false')
      sign(signs, line, 'certain', 'the job pages publishes a site');
    const group = effective(root, job, 'resource_group');
    signOfName(signs, 'job', key, line);
    signOfName(signs, 'stage', stage, effective(root, job, 'stage')?.line ?? line);
    if (group !== undefined && !ends && /deploy|release/i.test(key))
      sign(signs, group.line, 'weak', 'one such job at a time, as for an environment');
    for (const script of ['before_script', 'script', 'after_script'])
      signOfCommands(signs, effective(root, job, script));
  }
  const calls = trigger === undefined ? undefined : calledBy(trigger);
  return {
    name: key,
    line,
    ...(stage !== undefined && { stage }),
    ...(at(effective(root, job, 'parallel'), 'matrix') !== undefined && { matrix: true }),
    ...(calls !== undefined && { calls }),
    ...(disabled && { disabled }),
  };
}

function calledBy(trigger: Node): string | undefined {
  const [first] = manyOf(at(trigger, 'include'));
  return textOf(trigger) ?? textOf(at(trigger, 'project')) ?? (first && includeOf(first)[0]);
}

function includeOf(node: Node): readonly string[] {
  const text = textOf(node);
  if (text !== undefined) return [text];
  const kind = ['local', 'remote', 'template', 'component', 'artifact'].find((key) => at(node, key));
  if (kind !== undefined) return [textOf(at(node, kind)) ?? kind];
  const project = textOf(at(node, 'project'));
  if (project === undefined) return [];
  return manyOf(at(node, 'file')).map((file) => `${project}:${textOf(file) ?? ''}`);
}

/** What a job has at `keys`, by `extends` too, which merges maps: of several parents the last one counts. */
function effective(root: Node, job: Node, ...keys: readonly string[]): Node | undefined {
  const seen = new Set<Node>();
  const find = (node: Node, level: number): Node | undefined => {
    if (seen.has(node) || seen.size >= PARENTS_MAX) return undefined;
    seen.add(node);
    const own = at(node, ...keys);
    if (own !== undefined) return referenced(root, own);
    const replaced = at(node, keys[0] ?? '');
    const [parents, isOver] = [
      manyOf(at(node, 'extends')),
      replaced !== undefined && replaced.kind !== 'map',
    ];
    if (level >= LEVELS_MAX || isOver) return undefined;
    for (const parent of [...parents].reverse()) {
      const template = at(root, textOf(parent) ?? '');
      const found = template && find(template, level + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(job, 0);
}

/** `!reference [.setup, script]` */
function referenced(root: Node, node: Node): Node {
  let found = node;
  for (let level = 0; level < LEVELS_MAX && found.tag === '!reference'; level++) {
    const target = at(root, ...itemsOf(found).map((item) => textOf(item) ?? ''));
    if (target === undefined || target === root) break;
    found = target;
  }
  return found;
}

/** What a job runs for; a job that says nothing runs for every push. */
function startsOf(root: Node, job: Node): readonly string[] {
  const rules = effective(root, job, 'rules');
  const only = effective(root, job, 'only');
  if (rules !== undefined) {
    const found = conditionsOf(root, rules);
    const isNever = itemsOf(referenced(root, rules)).every((rule) => textOf(at(rule, 'when')) === 'never');
    return found.length > 0 || isNever ? found : ['push'];
  }
  const words = wordsOf(only?.kind === 'map' ? effective(root, job, 'only', 'refs') : only);
  const found = words.filter(isTrigger);
  return found.length === words.length && found.length > 0 ? found : [...found, 'push'];
}

/** What starts a pipeline, by the variables that `if:` asks for. */
function conditionsOf(root: Node, rules: Node | undefined): string[] {
  if (rules === undefined) return [];
  return itemsOf(referenced(root, rules)).flatMap((rule) => {
    const target = referenced(root, rule);
    if (target.kind === 'list') return target.items.flatMap(conditionOf);
    return conditionOf(target);
  });
}

function conditionOf(rule: Node): string[] {
  if (textOf(at(rule, 'when')) === 'never') return [];
  const text = textOf(at(rule, 'if')) ?? '';
  const found = [...text.matchAll(/\$CI_PIPELINE_SOURCE\s*==\s*["'](\w+)["']/g)].map(([, word = '']) => word);
  if (/\$CI_MERGE_REQUEST_/.test(text)) found.push('merge_request_event');
  if (/\$CI_COMMIT_TAG\b(?!\s*==\s*null)/.test(text)) found.push('tag');
  if (/\$CI_COMMIT_(?:BRANCH|REF_NAME|REF_SLUG)\b(?!\s*==\s*null)/.test(text)) found.push('push');
  return found;
}

/** A word of `only`, not the name of a branch. */
function isTrigger(word: string): boolean {
  return /^(?:api|branches|chat|external|external_pull_requests|merge_requests|pipelines|pushes|schedules|tags|triggers|web)$/.test(
    word,
  );
}

export function isGitlabJob({ key, value }: Entry): boolean {
  const words = ['script', 'trigger', 'extends', 'run'];
  return !RESERVED.has(key) && entriesOf(value).some((entry) => words.includes(entry.key));
}
