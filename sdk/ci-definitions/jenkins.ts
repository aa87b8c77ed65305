/** Reads a Jenkinsfile, declarative or scripted: its stages, by their braces. */
import { signOfCommand, signOfName, signsOf, strong, type Signs } from './deploy.ts';
import { functionsOf, type Functions } from './jenkins-functions.ts';
import { wordsIn } from './lines.ts';
import { isSign, tokenize, type Token, type Tokens } from './jenkins-tokens.ts';
import { pipelineOf, refuse, type JobDraft, type Reading } from './reading.ts';
import type { DefinedPipeline } from './types.ts';

const TRIGGERS = new Set(
  wordsIn(`
    cron pollSCM upstream githubPush bitbucketPush gitlab GenericTrigger genericTrigger issueCommentTrigger
    parameterizedCron githubBranches githubPullRequests snapshotDependencies
  `),
);
const SHELLS = new Set(['sh', 'bat', 'powershell', 'pwsh', 'script']);

/** Steps of plugins that put something where it runs. */
const DEPLOYING_STEPS = new Set(
  wordsIn(`
    acsDeploy azureFunctionAppPublish azureVMSSUpdate azureWebAppPublish cfnUpdate cfnUpdateStackSet
    cloudFoundryDeploy deployAPI ecsDeploy helmDeploy herokuDeploy kubernetesApply kubernetesDeploy
    multiStageDeploy neoDeploy octopusDeployRelease openshiftDeploy pushToCloudFoundry sshPublisher
    xldDeploy xsDeploy
  `),
);
/** The same, as `step([$class: …])` names them. */
const DEPLOYING_CLASSES = new Set(
  wordsIn(`
    ACSDeploymentContextBuilder AWSCodeDeployPublisher AWSEBDeploymentBuilder
    CloudFoundryPushPublisher DeployPublisher KubernetesDeploy KubernetesEngineBuilder
    OpenShiftDeployer WebAppDeploymentCommand BapSshPublisherPlugin OctopusDeployReleaseRecorder
    HerokuDeployArtifact
  `),
);
/**
 * Steps by which a Jenkinsfile without stages shows that it is one, with whatever space before their
 * brackets.
 */
const STEPS = new Set(
  wordsIn(`
    bat build checkout dir echo error git input junit library load lock mail milestone node parallel
    pipeline podTemplate powershell properties pwsh retry script sh stage timeout timestamps
    withCredentials withEnv ws
  `),
);
/** Words with brackets that are no calls. */
const CONTROL = new Set(['if', 'for', 'while', 'switch', 'catch', 'return']);
const STAGES_MAX = 2000;
/** Most tokens of one call. */
const ARGUMENTS_MAX = 500;

/**
 * Tokens of functions and variables that one file's triggers may lead to: each assignment may name the next
 * one.
 */
const LOOKED_MAX = 100_000;

interface ReadJenkinsfile extends Tokens {
  readonly functions: Functions;
  readonly jobs: JobDraft[];
  readonly triggers: string[];
  readonly signs: Signs;
  /** Functions and variables that were looked into for triggers. */
  readonly seen: Set<string>;
  /** Texts of commands that were looked into. */
  readonly read: Set<Token>;
  /** Tokens that were gone through for triggers. */
  looked: number;
}

export function readJenkins(reading: Reading, text: string): readonly DefinedPipeline[] {
  const read = tokenize(text);
  const { tokens, fault } = read;
  if (fault !== undefined) refuse(reading, fault, fault.what);
  else if (tokens.length === 0) refuse(reading, undefined, 'the file holds no code');
  if (fault !== undefined || tokens.length === 0) return [];
  const functions = functionsOf(read);
  if (!runsSomething(read, functions)) {
    const message = 'neither a pipeline, nor a node, nor a step: nothing in the file is run';
    return refuse(reading, tokens[0], message);
  }
  const found: ReadJenkinsfile = {
    ...read,
    functions,
    jobs: [],
    triggers: [],
    signs: signsOf(reading),
    seen: new Set(),
    read: new Set(),
    looked: 0,
  };
  readTokens(found);
  const libraries = librariesOf(read);
  const isBlock = (word: string): boolean =>
    tokens.some(({ kind, text: name }) => kind === 'word' && name === word);
  const opaque = found.jobs.length === 0 && !isBlock('node') && !isBlock('stages');
  return [
    pipelineOf(reading, {
      ...found,
      opaque,
      partial: opaque || libraries.length > 0,
      includes: libraries,
    }),
  ];
}

/** Finds a step that Jenkins itself has, or a call of something else: `build()`, `build {`, `build 'x'`. */
function runsSomething({ tokens }: Tokens, functions: Functions): boolean {
  return tokens.some((token, index) => {
    const [before, next] = [tokens[index - 1], tokens[index + 1]];
    if (token.kind !== 'word' || next === undefined || !functions.isRun(index)) return false;
    if (CONTROL.has(token.text) || before?.text === '@' || before?.text === 'class') return false;
    const isNear = next.line === token.line && next.column === token.column + token.text.length;
    const isStep = STEPS.has(token.text);
    if (isSign(next, '{')) return isStep || beginsStatement(tokens, index);
    if (isSign(next, '(')) return isNear || (isStep && isValue(tokens, index + 2));
    return isStep
      ? isValue(tokens, index + 1) || (token.text === 'checkout' && next.text === 'scm')
      : next.kind === 'string' && next.line === token.line && beginsStatement(tokens, index);
  });
}

interface Opened {
  /** Other brackets that are open around it. */
  readonly outside: number;
  /** Index into the jobs, of the stage that the brace belongs to or lies in. */
  readonly stage?: number | undefined;
  readonly isTriggers?: true;
}

function readTokens(found: ReadJenkinsfile): void {
  const { tokens } = found;
  const open: Opened[] = [];
  let next: Opens = {};
  /** Round and square brackets that are open within the last brace. */
  let brackets = 0;
  for (const [index, token] of tokens.entries()) {
    if (isSign(token, '{')) {
      open.push({ outside: brackets, stage: open.at(-1)?.stage, ...next });
      next = {};
      brackets = 0;
    } else if (isSign(token, '}')) brackets = open.pop()?.outside ?? 0;
    else if (token.kind === 'sign' && /^[()[\]]$/.test(token.text)) {
      if (open.at(-1)?.isTriggers === true && brackets === 0 && token.text === '[')
        found.triggers.push(...classesIn(tokens.slice(index, index + 4)));
      brackets += /[([]/.test(token.text) ? 1 : -1;
    } else if (token.kind === 'word' && tokens[index - 1]?.text !== '.') {
      if (open.at(-1)?.isTriggers === true && brackets === 0 && beginsStatement(tokens, index))
        found.triggers.push(token.text);
      next = readWord(index, open, found) ?? next;
    }
  }
}

type Opens = Omit<Opened, 'outside'>;

/**
 * Tells the first word of a line, or behind a `{` or a `;`, from one that goes on with what the line before
 * began.
 */
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

/** Says what the brace that comes next opens, when the word says so. */
function readWord(index: number, open: readonly Opened[], found: ReadJenkinsfile): Opens | undefined {
  const { tokens, functions, signs } = found;
  const token = tokens[index];
  if (token === undefined) return undefined;
  const opens = tokens[index + 1]?.text === '{';
  if (token.text === 'stage') return readStage(index, open, found);
  if (token.text === 'triggers' && opens) return { isTriggers: true };
  if (token.text === 'pipelineTriggers') readTriggers(index, found);
  if (token.text === 'matrix' && opens) {
    const within = open.at(-1)?.stage;
    const job = within === undefined ? undefined : found.jobs[within];
    if (within !== undefined && job !== undefined) found.jobs[within] = { ...job, matrix: true };
  }
  if (!functions.isRun(index)) return undefined;
  if (SHELLS.has(token.text))
    for (const inner of commandsIn(argumentsAt(found, index))) {
      // Steps within steps: each text is read once.
      if (!found.read.has(inner)) readCommands(inner, signs);
      found.read.add(inner);
    }
  const isStep = DEPLOYING_STEPS.has(token.text) && !functions.has(token.text) && isCalled(tokens, index);
  const [named] = token.text === '$class' ? classesIn(tokens.slice(index, index + 3)) : [];
  const what = isStep ? token.text : named?.replace(/^.*\./, '');
  if (isStep || (what !== undefined && DEPLOYING_CLASSES.has(what)))
    strong(signs, token.line, `the step ${what} deploys`);
  return undefined;
}

/** It returns true for `'text'`, `name: …` or `[…`; in prose with brackets there are other things. */
function isValue(tokens: readonly Token[], index: number): boolean {
  const token = tokens[index];
  return (
    token?.kind === 'string' ||
    token?.text === '[' ||
    (token?.kind === 'word' && tokens[index + 1]?.text === ':')
  );
}

/** Tells a call, with brackets or without: `deploy(x)`, `deploy 'x'`, `deploy key: x`. */
function isCalled(tokens: readonly Token[], index: number): boolean {
  const [token, next] = [tokens[index], tokens[index + 1]];
  if (isSign(next, '(')) return true;
  const isArgument = next?.kind === 'string' || (next?.kind === 'word' && tokens[index + 2]?.text === ':');
  return isArgument && next.line === token?.line;
}

/**
 * Reads what is between its brackets, and what functions and variables of the file that are named there make.
 */
function readTriggers(index: number, found: ReadJenkinsfile): void {
  const { tokens, pairs, functions, triggers, seen } = found;
  const close = pairs.get(index + 1) ?? index;
  const named = new Set<string>();
  const look = (indices: readonly number[]): void => {
    for (const at of indices) {
      const token = tokens[at];
      if (token?.kind !== 'word') continue;
      if (TRIGGERS.has(token.text)) triggers.push(token.text);
      else if (token.text === '$class') triggers.push(...classesIn(tokens.slice(at, at + 3)));
      else if (!seen.has(token.text)) named.add(token.text);
      seen.add(token.text);
    }
  };
  look(Array.from({ length: Math.min(close - index, ARGUMENTS_MAX) }, (_, offset) => index + 1 + offset));
  // Goes on to those that are added meanwhile.
  for (const name of named) {
    if (found.looked > LOOKED_MAX) break;
    const behind = functions.behind(name);
    found.looked += behind.length;
    look(behind);
  }
}

/** Reads `stage('x') {`, `stage(name: 'x') {` and `stage 'x'`. */
function readStage(index: number, open: readonly Opened[], found: ReadJenkinsfile): Opens | undefined {
  const { tokens, jobs, signs } = found;
  const isCall = isSign(tokens[index + 1], '(');
  let at = index + (isCall ? 2 : 1);
  if (tokens[at]?.text === 'name' && tokens[at + 1]?.text === ':') at += 2;
  const [name, line] = [tokens[at], tokens[index]?.line ?? 1];
  if (name === undefined || jobs.length >= STAGES_MAX) return undefined;
  // `stage(variable)` is a stage too; its name is known only when it runs.
  if (name.kind !== 'string' && !(isCall && name.kind === 'word' && opensBlock(found, index + 1)))
    return undefined;
  const within = open.at(-1)?.stage;
  const stage = within === undefined ? undefined : jobs[within]?.name;
  signOfName(signs, { kind: 'stage', name: name.text, line });
  jobs.push({ name: name.text, line, stage });
  return { stage: jobs.length - 1 };
}

function opensBlock({ tokens, pairs }: Tokens, bracket: number): boolean {
  return tokens[(pairs.get(bracket) ?? bracket) + 1]?.text === '{';
}

/** Returns the strings that are run, and not what is shown in place of them. */
function commandsIn(inside: readonly Token[]): readonly Token[] {
  return inside.filter(({ kind }, index) => {
    const isShown = /^(?:label|encoding)$/.test(inside[index - 2]?.text ?? '');
    return kind === 'string' && !(isShown && inside[index - 1]?.text === ':');
  });
}

/**
 * Returns what is between the brackets of a call; without brackets, the texts and named values that come
 * next.
 */
function argumentsAt({ tokens, pairs }: Tokens, index: number): readonly Token[] {
  const first = index + 1;
  if (!isSign(tokens[first], '(')) {
    let end = endOfValue(tokens, first);
    while (end < first + ARGUMENTS_MAX && tokens[end]?.text === ',') end = endOfValue(tokens, end + 1);
    return tokens.slice(first, end);
  }
  const close = pairs.get(first) ?? first;
  return close - first > ARGUMENTS_MAX ? [] : tokens.slice(first + 1, close);
}

/** It returns the index behind `'text'`, `'text' + 'more'`, `name: 'text'` and `name: true`. */
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

/** Takes backslashes off the end; a pattern would look through a line of them once for each. */
function withoutBackslashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\\') end--;
  return text.slice(0, end);
}

/** `@Library('shared@1') _` */
function librariesOf(read: Tokens): readonly string[] {
  const { tokens } = read;
  return tokens.flatMap((token, index) => {
    const isLibrary = token.text === 'Library' && tokens[index - 1]?.text === '@';
    if (!isLibrary) return [];
    return argumentsAt(read, index).flatMap(({ kind, text }) => (kind === 'string' ? [text] : []));
  });
}
