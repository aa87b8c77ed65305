/** A Jenkinsfile, declarative or scripted: its stages, by their braces. */
import { signOfCommand, signOfName, type Signs } from './deploy.ts';
import { tokenize, type Token } from './jenkins-tokens.ts';
import { newSigns, pipelineOf, problem, type Reading } from './reading.ts';
import type { DefinedJob, DefinedPipeline } from './types.ts';

const TRIGGERS = new Set([
  'cron',
  'pollSCM',
  'upstream',
  'githubPush',
  'bitbucketPush',
  'gitlab',
  'GenericTrigger',
  'genericTrigger',
  'issueCommentTrigger',
  'parameterizedCron',
  'githubBranches',
  'githubPullRequests',
  'snapshotDependencies',
]);
const SHELLS = new Set(['sh', 'bat', 'powershell', 'pwsh', 'script']);
const STAGES_MAX = 2000;

interface Found {
  readonly jobs: DefinedJob[];
  readonly triggers: string[];
  readonly signs: Signs;
}

export function readJenkins(reading: Reading, text: string): readonly DefinedPipeline[] {
  const { tokens, unclosed } = tokenize(text);
  for (const { line, column, what, isFatal } of unclosed)
    problem(reading, { line, column }, isFatal ? 'error' : 'warning', what);
  if (unclosed.some(({ isFatal }) => isFatal)) return [];
  if (tokens.length === 0) {
    problem(reading, undefined, 'error', 'the file holds no code');
    return [];
  }
  const found: Found = { jobs: [], triggers: [], signs: newSigns(reading) };
  readTokens(reading, tokens, found);
  const libraries = librariesOf(tokens);
  const isBlock = (word: string): boolean =>
    tokens.some(({ kind, text: name }) => kind === 'word' && name === word);
  const opaque = found.jobs.length === 0 && !isBlock('node') && !isBlock('stages');
  return [
    pipelineOf(reading, {
      name: undefined,
      jobs: found.jobs,
      triggers: found.triggers,
      signs: found.signs,
      opaque,
      partial: opaque || libraries.length > 0,
      includes: libraries,
    }),
  ];
}

interface Opened {
  readonly brace: Token;
  /** Index into the jobs, of the stage that the brace belongs to or lies in. */
  readonly stage?: number | undefined;
  readonly isTriggers?: true;
}

function readTokens(reading: Reading, tokens: readonly Token[], found: Found): void {
  const open: Opened[] = [];
  let next: Omit<Opened, 'brace'> = {};
  for (const [index, token] of tokens.entries()) {
    if (token.kind === 'sign' && token.text === '{') {
      open.push({ brace: token, stage: open.at(-1)?.stage, ...next });
      next = {};
    } else if (token.kind === 'sign' && token.text === '}') {
      if (open.pop() === undefined) problem(reading, token, 'warning', 'a } that closes nothing');
    } else if (token.kind === 'word' && tokens[index - 1]?.text !== '.') {
      next = readWord(tokens, index, open, found) ?? next;
    }
  }
  const last = open.at(-1);
  if (last !== undefined) problem(reading, last.brace, 'warning', 'a { that is not closed');
}

/** What the brace that comes next opens, when the word says so. */
function readWord(
  tokens: readonly Token[],
  index: number,
  open: readonly Opened[],
  found: Found,
): Omit<Opened, 'brace'> | undefined {
  const token = tokens[index];
  if (token === undefined) return undefined;
  const opens = tokens[index + 1]?.text === '{';
  if (token.text === 'stage') return readStage(tokens, index, open, found);
  if (token.text === 'triggers' && opens) return { isTriggers: true };
  if (TRIGGERS.has(token.text) && open.at(-1)?.isTriggers === true) found.triggers.push(token.text);
  if (token.text === 'pipelineTriggers')
    for (const inner of argumentsAt(tokens, index))
      if (inner.kind === 'word' && TRIGGERS.has(inner.text)) found.triggers.push(inner.text);
  if (token.text === 'matrix' && opens) {
    const within = open.at(-1)?.stage;
    const job = within === undefined ? undefined : found.jobs[within];
    if (within !== undefined && job !== undefined) found.jobs[within] = { ...job, matrix: true };
  }
  if (SHELLS.has(token.text))
    for (const inner of argumentsAt(tokens, index))
      if (inner.kind === 'string') readCommands(inner, found.signs);
  return undefined;
}

/** `stage('x') {`, `stage(name: 'x') {`, `stage 'x'` */
function readStage(
  tokens: readonly Token[],
  index: number,
  open: readonly Opened[],
  { jobs, signs }: Found,
): Omit<Opened, 'brace'> | undefined {
  const isCall = tokens[index + 1]?.text === '(' && tokens[index + 1]?.kind === 'sign';
  let at = index + (isCall ? 2 : 1);
  if (tokens[at]?.text === 'name' && tokens[at + 1]?.text === ':') at += 2;
  const [name, line] = [tokens[at], tokens[index]?.line ?? 1];
  if (name === undefined || jobs.length >= STAGES_MAX) return undefined;
  // `stage(variable)` is a stage too; its name is known only when it runs.
  if (name.kind !== 'string' && !(isCall && name.kind === 'word' && opensBlock(tokens, index + 1)))
    return undefined;
  const within = open.at(-1)?.stage;
  const stage = within === undefined ? undefined : jobs[within]?.name;
  signOfName(signs, 'stage', name.text, line);
  jobs.push({ name: name.text, line, ...(stage !== undefined && { stage }) });
  return { stage: jobs.length - 1 };
}

function opensBlock(tokens: readonly Token[], from: number): boolean {
  const length = argumentsAt(tokens, from - 1).length;
  return tokens[from + length + 2]?.text === '{';
}

/** What is between the brackets of a call; without brackets, the text that comes next and what is added to it. */
function argumentsAt(tokens: readonly Token[], index: number): readonly Token[] {
  const first = index + 1;
  if (tokens[first]?.kind !== 'sign' || tokens[first]?.text !== '(') {
    const start = tokens[first]?.text === 'script' && tokens[first + 1]?.text === ':' ? first + 2 : first;
    let end = start;
    while (tokens[end]?.kind === 'string' || (end > start && tokens[end]?.text === '+')) end++;
    return tokens.slice(start, end);
  }
  let depth = 0;
  for (let end = first; end < Math.min(tokens.length, first + 500); end++) {
    const { kind, text } = tokens[end] ?? { kind: 'sign', text: ')' };
    if (kind === 'sign' && text === '(') depth++;
    if (kind === 'sign' && text === ')') depth--;
    if (depth === 0) return tokens.slice(first + 1, end);
  }
  return [];
}

function readCommands(token: Token, signs: Signs): void {
  let joined = '';
  let began = 0;
  for (const [offset, text] of token.text.split('\n').entries()) {
    if (joined === '') began = offset;
    joined += text.replace(/\\\s*$/, ' ');
    if (/\\\s*$/.test(text) && joined.length < 10_000) continue;
    signOfCommand(signs, joined, token.line + began);
    joined = '';
  }
}

/** `@Library('shared@1') _` */
function librariesOf(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap((token, index) => {
    const isLibrary = token.text === 'Library' && tokens[index - 1]?.text === '@';
    if (!isLibrary) return [];
    return argumentsAt(tokens, index).flatMap(({ kind, text }) => (kind === 'string' ? [text] : []));
  });
}
