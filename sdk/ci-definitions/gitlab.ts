/** `.gitlab-ci.yml` */
import { certain, signOfCommands, signOfName, signsOf, weak, type Signs } from './deploy.ts';
import { wordsIn } from './lines.ts';
import { at, entriesOf, itemsOf, manyOf, textOf, unique, wordsOf, type Entry, type Node } from './node.ts';
import { pipelineOf, refuse, warn, type JobDraft, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

const RESERVED = new Set(
  wordsIn(`
    default stages types variables workflow image services cache before_script after_script include spec
  `),
);
/** Levels of `extends` and of `!reference`; GitLab allows 11 and 10. */
const LEVELS_MAX = 11;
/** Templates that are looked through for one key of one job. */
const PARENTS_MAX = 100;
/** Keys of one `!reference`; jobs by the thousand may name the same one. */
const PATH_MAX = 16;

/** Most words of one list of rules. */
const WORDS_MAX = 50;
/** Values that `$CI_PIPELINE_SOURCE` can have. */
const SOURCES = new Set(
  wordsIn(`
    api chat external external_pull_request_event merge_request_event ondemand_dast_scan
    ondemand_dast_validation parent_pipeline pipeline push schedule security_orchestration_policy trigger web
    webide
  `),
);

interface File {
  readonly root: Node;
  /** Starts by the node of `rules` or `only`, because jobs by the thousand may extend the same template. */
  readonly starts: Map<Node, Starts>;
  /** Answers that templates gave before, by template and by the keys that were asked for. */
  readonly inherited: Map<Node, Map<string, Node | undefined>>;
}

interface Starts {
  readonly words: readonly string[];
  /** Not all of it is `when: never`. */
  readonly runs: boolean;
}

export function readGitlab(reading: Reading): readonly DefinedPipeline[] {
  const [first, second] = reading.documents;
  // A header of inputs comes in a document of its own.
  const hasHeader = second !== undefined && at(first, 'spec') !== undefined;
  const root = hasHeader ? second : first;
  if (root?.kind !== 'map') return refuse(reading, root, 'the file holds no map of jobs');
  const extra = reading.documents[hasHeader ? 2 : 1];
  if (extra !== undefined) warn(reading, extra, 'this document does not count');
  const includes = manyOf(at(root, 'include')).flatMap(includeOf);
  const entries = root.entries.filter(({ key }) => !RESERVED.has(key) && !key.startsWith('.'));
  const signs = signsOf(reading);
  const jobs: JobDraft[] = [];
  const file: File = { root, starts: new Map(), inherited: new Map() };
  const rules = at(root, 'workflow', 'rules');
  const triggers = new Set(conditionsOf(file, rules));
  for (const entry of entries) {
    if (entry.value.kind !== 'map') {
      refuse(reading, entry.value, `the job "${entry.key}" is not a map`);
      continue;
    }
    jobs.push(readJob(file, entry, signs));
    // What the workflow says is what starts anything at all.
    for (const word of startsOf(file, entry.value))
      if (word !== 'push' || rules === undefined) triggers.add(word);
  }
  if (jobs.length === 0 && includes.length === 0) return refuse(reading, root, 'no job and no include');
  const name = textOf(at(root, 'workflow', 'name'));
  return [
    pipelineOf(reading, {
      name,
      jobs,
      triggers: triggers.size > 0 ? [...triggers] : ['push'],
      signs,
      partial: includes.length > 0,
      includes: [...includes, ...jobs.flatMap(({ calls }) => calls ?? [])],
    }),
  ];
}

function readJob(file: File, { key, line, value: job }: Entry, signs: Signs): JobDraft {
  const stageNode = effective(file, job, 'stage');
  const stage = textOf(stageNode);
  const trigger = effective(file, job, 'trigger');
  const disabled = textOf(effective(file, job, 'when')) === 'never';
  if (!disabled) {
    const environment = effective(file, job, 'environment');
    const ends = /^(?:stop|verify|access)$/.test(textOf(effective(file, job, 'environment', 'action')) ?? '');
    const isNamed =
      textOf(environment) !== undefined || effective(file, job, 'environment', 'name') !== undefined;
    if (environment !== undefined && isNamed && !ends)
      certain(signs, environment.line, `the job ${key} has an environment`);
    if (key === 'pages' && textOf(at(job, 'pages')) !== 'false')
      certain(signs, line, 'the job pages publishes a site');
    const group = effective(file, job, 'resource_group');
    signOfName(signs, { kind: 'job', name: key, line });
    signOfName(signs, { kind: 'stage', name: stageNode, line });
    if (group !== undefined && !ends && /deploy|release/i.test(key))
      weak(signs, group.line, 'one such job at a time, as for an environment');
    for (const script of ['before_script', 'script', 'after_script'])
      signOfScript(file.root, effective(file, job, script), { signs, level: 0 });
  }
  const calls = trigger === undefined ? undefined : calledBy(trigger);
  const matrix = at(effective(file, job, 'parallel'), 'matrix') !== undefined;
  return { name: key, line, stage, matrix, calls, disabled };
}

/** A script may be put together of others: `- !reference [.setup, script]`. */
function signOfScript(
  root: Node,
  script: Node | undefined,
  { signs, level }: { readonly signs: Signs; readonly level: number },
): void {
  const found = script && referenced(root, script);
  if (found?.kind !== 'list') return signOfCommands(signs, found);
  if (signs.seen.has(found) || level > LEVELS_MAX) return;
  signs.seen.add(found);
  for (const item of found.items) signOfScript(root, item, { signs, level: level + 1 });
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

/**
 * Finds what a job has at `keys`, by `extends` too, which merges maps: of several parents the last one
 * counts.
 */
function effective(file: File, job: Node, ...keys: readonly string[]): Node | undefined {
  const own = ownOrReplaced(file, job, keys);
  if (own !== undefined) return own.found;
  const wanted = keys.join(' ');
  for (const template of templatesOf(file, job)) {
    // Jobs by the thousand may have the same parents.
    let known = file.inherited.get(template);
    if (known === undefined) file.inherited.set(template, (known = new Map()));
    if (!known.has(wanted)) known.set(wanted, inherited(file, template, keys));
    const found = known.get(wanted);
    if (found !== undefined) return found;
  }
  return undefined;
}

function inherited(file: File, parent: Node, keys: readonly string[]): Node | undefined {
  const seen = new Set<Node>();
  const find = (node: Node, level: number): Node | undefined => {
    if (seen.has(node) || seen.size >= PARENTS_MAX) return undefined;
    seen.add(node);
    const own = ownOrReplaced(file, node, keys);
    if (own !== undefined || level >= LEVELS_MAX) return own?.found;
    for (const template of templatesOf(file, node)) {
      const found = find(template, level + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(parent, 1);
}

/** Answers undefined where the node leaves it to its templates. */
function ownOrReplaced(
  { root }: File,
  node: Node,
  keys: readonly string[],
): { readonly found: Node | undefined } | undefined {
  const own = follow(root, node, keys);
  if (own !== undefined) return { found: own };
  const replaced = follow(root, node, keys.slice(0, 1));
  return replaced !== undefined && replaced.kind !== 'map' ? { found: undefined } : undefined;
}

/** The one that counts first is the last one named. */
function templatesOf({ root }: File, node: Node): readonly Node[] {
  const parents = manyOf(at(node, 'extends')).slice(-PARENTS_MAX).reverse();
  return parents.flatMap((parent) => at(root, textOf(parent) ?? '') ?? []);
}

/** Like `at`, with what a `!reference` on the way names in its place. */
function follow(root: Node, node: Node, keys: readonly string[]): Node | undefined {
  let found: Node | undefined = node;
  for (const key of keys) {
    const next = at(found, key);
    found = next && referenced(root, next);
  }
  return found;
}

/** `!reference [.setup, script]` */
function referenced(root: Node, node: Node): Node {
  let found = node;
  for (let level = 0; level < LEVELS_MAX && found.tag === '!reference'; level++) {
    const path = itemsOf(found).slice(0, PATH_MAX);
    const target = at(root, ...path.map((item) => textOf(item) ?? ''));
    if (target === undefined || target === root) break;
    found = target;
  }
  return found;
}

/** Returns what a job runs for; a job that says nothing runs for every push. */
function startsOf(file: File, job: Node): readonly string[] {
  const { starts } = file;
  const rules = effective(file, job, 'rules');
  if (rules !== undefined) return conditionsOf(file, rules);
  const only = effective(file, job, 'only');
  const refs = only?.kind === 'map' ? effective(file, job, 'only', 'refs') : only;
  if (refs === undefined) return ['push'];
  const known = starts.get(refs);
  if (known !== undefined) return known.words;
  const words = wordsOf(refs);
  const found = words.filter(isTrigger);
  const all = unique(found.length === words.length && found.length > 0 ? found : [...found, 'push']);
  starts.set(refs, { words: all, runs: true });
  return all;
}

/**
 * Returns what starts a pipeline by these rules, and a push where no rule says what, unless none lets
 * anything run.
 */
function conditionsOf(file: File, rules: Node | undefined): readonly string[] {
  if (rules === undefined) return [];
  const { words, runs } = readRules(file, rules, 0);
  return words.length > 0 || !runs ? words : ['push'];
}

/** Reads one rule or a list, in which lists may stand that a `!reference` names. */
function readRules(file: File, node: Node, level: number): Starts {
  const rules = referenced(file.root, node);
  const known = file.starts.get(rules);
  if (known !== undefined) return known;
  let found: Starts = { words: [], runs: false };
  // Rules may name themselves.
  file.starts.set(rules, found);
  if (rules.kind !== 'list') {
    const runs = textOf(at(rules, 'when')) !== 'never';
    found = { words: runs ? conditionOf(rules) : [], runs };
  } else if (level <= LEVELS_MAX) {
    const parts = rules.items.map((item) => readRules(file, item, level + 1));
    const words = new Set(parts.flatMap((part) => part.words));
    found = { words: [...words].slice(0, WORDS_MAX), runs: parts.some(({ runs }) => runs) };
  }
  file.starts.set(rules, found);
  return found;
}

/** A rule without `if` is for whatever comes, and so for a push too. */
function conditionOf(rule: Node): readonly string[] {
  const text = textOf(at(rule, 'if'));
  if (text === undefined) return ['push'];
  // With brackets, the parts of `||` do not stand alone.
  const hasBrackets = text.replace(/=~\s*\/[^/]*\//g, '').includes('(');
  return unique((hasBrackets ? [text] : text.split('||')).flatMap(sourcesOf)).slice(0, WORDS_MAX);
}

/**
 * Tells sources by the one that is compared; where none is, by the variables that are asked for, of which
 * each source has its own.
 */
function sourcesOf(condition: string): readonly string[] {
  const compared = [
    ...condition.matchAll(/\$CI_PIPELINE_SOURCE\s*==\s*["'](\w+)["']/g),
    ...condition.matchAll(/\$CI_PIPELINE_SOURCE\s*=~\s*\/([^/]*)\//g),
  ].flatMap(([whole, words = '']) =>
    whole.endsWith('/') ? (words.match(/\w+/g) ?? []).filter((word) => SOURCES.has(word)) : [words],
  );
  if (compared.length > 0) return compared;
  const found: string[] = [];
  if (/\$CI_MERGE_REQUEST_/.test(condition)) found.push('merge_request_event');
  if (/\$CI_COMMIT_TAG\b(?!\s*==\s*null)/.test(condition)) found.push('tag');
  if (/\$CI_COMMIT_(?:BRANCH|REF_NAME|REF_SLUG)\b(?!\s*==\s*null)/.test(condition)) found.push('push');
  return found;
}

/** It tells a word of `only` from the name of a branch. */
function isTrigger(word: string): boolean {
  return /^(?:api|branches|chat|external|external_pull_requests|merge_requests|pipelines|pushes|schedules|tags|triggers|web)$/.test(
    word,
  );
}

/** Returns true where there is a job, and nothing but jobs, templates of jobs and words of GitLab. */
export function isGitlabFile(root: Node | undefined): boolean {
  const words = ['script', 'trigger', 'extends', 'run'];
  const jobs = entriesOf(root).filter(({ key }) => !RESERVED.has(key) && !key.startsWith('.'));
  const isJob = ({ value }: Entry): boolean => entriesOf(value).some(({ key }) => words.includes(key));
  return jobs.some(isJob) && jobs.every(({ value }) => value.kind === 'map');
}
