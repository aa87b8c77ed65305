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
/** Tokens of one call. */
const ARGUMENTS_MAX = 500;

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
  /** Other brackets that are open around it. */
  readonly outside: number;
  /** Index into the jobs, of the stage that the brace belongs to or lies in. */
  readonly stage?: number | undefined;
  readonly isTriggers?: true;
}

function readTokens(reading: Reading, tokens: readonly Token[], found: Found): void {
  const open: Opened[] = [];
  let next: Opens = {};
  /** Round and square brackets that are open within the last brace. */
  let brackets = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.kind === 'sign' && token.text === '{') {
      open.push({ brace: token, outside: brackets, stage: open.at(-1)?.stage, ...next });
      next = {};
      brackets = 0;
    } else if (token.kind === 'sign' && token.text === '}') {
      const closed = open.pop();
      if (closed === undefined) problem(reading, token, 'warning', 'a } that closes nothing');
      brackets = closed?.outside ?? 0;
    } else if (token.kind === 'sign' && /^[()[\]]$/.test(token.text)) {
      if (open.at(-1)?.isTriggers === true && brackets === 0 && token.text === '[')
        found.triggers.push(...classesIn(tokens.slice(index, index + 4)));
      brackets = Math.max(0, brackets + (/[([]/.test(token.text) ? 1 : -1));
    } else if (token.kind === 'word' && tokens[index - 1]?.text !== '.') {
      if (open.at(-1)?.isTriggers === true && brackets === 0 && beginsStatement(tokens, index))
        found.triggers.push(token.text);
      next = readWord(tokens, index, open, found) ?? next;
    }
  }
  const last = open.at(-1);
  if (last !== undefined) problem(reading, last.brace, 'warning', 'a { that is not closed');
}

type Opens = Omit<Opened, 'brace' | 'outside'>;

/** The first word of a line, or behind a `{` or a `;`; not one that goes on with what the line before began. */
function beginsStatement(tokens: readonly Token[], index: number): boolean {
  const [before, token] = [tokens[index - 1], tokens[index]];
  if (before?.kind === 'sign' && /^[{;]$/.test(before.text)) return true;
  const goesOn = before?.kind === 'sign' && /^[,:=+?.&|(]$/.test(before.text);
  return !goesOn && before?.line !== token?.line;
}

/** `[$class: 'TimerTrigger', …` */
function classesIn(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap((token, index) => {
    const named = tokens[index + 2];
    const isClass = token.text === '$class' && tokens[index + 1]?.text === ':' && named?.kind === 'string';
    return isClass ? [named.text] : [];
  });
}

/** What the brace that comes next opens, when the word says so. */
function readWord(
  tokens: readonly Token[],
  index: number,
  open: readonly Opened[],
  found: Found,
): Opens | undefined {
  const token = tokens[index];
  if (token === undefined) return undefined;
  const opens = tokens[index + 1]?.text === '{';
  if (token.text === 'stage') return readStage(tokens, index, open, found);
  if (token.text === 'triggers' && opens) return { isTriggers: true };
  if (token.text === 'pipelineTriggers') {
    const inside = argumentsAt(tokens, index);
    for (const inner of inside)
      if (inner.kind === 'word' && TRIGGERS.has(inner.text)) found.triggers.push(inner.text);
    found.triggers.push(...classesIn(inside));
  }
  if (token.text === 'matrix' && opens) {
    const within = open.at(-1)?.stage;
    const job = within === undefined ? undefined : found.jobs[within];
    if (within !== undefined && job !== undefined) found.jobs[within] = { ...job, matrix: true };
  }
  if (SHELLS.has(token.text))
    for (const inner of commandsIn(argumentsAt(tokens, index))) readCommands(inner, found.signs);
  return undefined;
}

/** `stage('x') {`, `stage(name: 'x') {`, `stage 'x'` */
function readStage(
  tokens: readonly Token[],
  index: number,
  open: readonly Opened[],
  { jobs, signs }: Found,
): Opens | undefined {
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

/** Strings that are run, and not what is shown in place of them. */
function commandsIn(inside: readonly Token[]): readonly Token[] {
  return inside.filter(({ kind }, index) => {
    const isShown = /^(?:label|encoding)$/.test(inside[index - 2]?.text ?? '');
    return kind === 'string' && !(isShown && inside[index - 1]?.text === ':');
  });
}

/** What is between the brackets of a call; without brackets, the texts and named values that come next. */
function argumentsAt(tokens: readonly Token[], index: number): readonly Token[] {
  const first = index + 1;
  if (tokens[first]?.kind !== 'sign' || tokens[first]?.text !== '(') {
    let end = endOfValue(tokens, first);
    while (end < first + ARGUMENTS_MAX && tokens[end]?.text === ',') end = endOfValue(tokens, end + 1);
    return tokens.slice(first, end);
  }
  let depth = 0;
  for (let end = first; end < Math.min(tokens.length, first + ARGUMENTS_MAX); end++) {
    const { kind, text } = tokens[end] ?? { kind: 'sign', text: ')' };
    if (kind === 'sign' && text === '(') depth++;
    if (kind === 'sign' && text === ')') depth--;
    if (depth === 0) return tokens.slice(first + 1, end);
  }
  return [];
}

/** Behind `'text'`, `'text' + 'more'`, `name: 'text'` and `name: true`. */
function endOfValue(tokens: readonly Token[], start: number): number {
  const isNamed = tokens[start]?.kind === 'word' && tokens[start + 1]?.text === ':';
  let end = isNamed ? start + 2 : start;
  if (isNamed && tokens[end]?.kind === 'word') return end + 1;
  const from = end;
  while (
    end < from + ARGUMENTS_MAX &&
    (tokens[end]?.kind === 'string' || (end > from && tokens[end]?.text === '+'))
  )
    end++;
  return end;
}

function readCommands(token: Token, signs: Signs): void {
  let joined = '';
  let began = 0;
  for (const [offset, text] of token.text.split('\n').entries()) {
    if (joined === '') began = offset;
    const written = text.trimEnd();
    const command = withoutBackslashes(written);
    joined += `${command} `;
    if (command.length < written.length && joined.length < 10_000) continue;
    signOfCommand(signs, joined, token.line + began);
    joined = '';
  }
}

/** At its end; a pattern would look through a line of them once for each. */
function withoutBackslashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\\') end--;
  return text.slice(0, end);
}

/** `@Library('shared@1') _` */
function librariesOf(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap((token, index) => {
    const isLibrary = token.text === 'Library' && tokens[index - 1]?.text === '@';
    if (!isLibrary) return [];
    return argumentsAt(tokens, index).flatMap(({ kind, text }) => (kind === 'string' ? [text] : []));
  });
}
