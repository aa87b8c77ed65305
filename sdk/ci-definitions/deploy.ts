/** Tells whether a pipeline deploys. Signs are collected with their lines, and added up: 2 is enough. */
import { entriesOf, itemsOf, textOf, type Node, type ScalarNode } from './node.ts';
import { shorten } from './lines.ts';
import type { DeployEvidence } from './types.ts';

const WEIGHT = { certain: 2, strong: 2, weak: 1 } as const;
const ENOUGH = 2;
const EVIDENCE_MAX = 50;
const TEXT_MAX = 200;
/** Characters of a command that are looked at. */
const COMMAND_MAX = 2000;
/**
 * Characters of a name, an action or an image that are looked at: jobs by the thousand may inherit the same
 * long one.
 */
export const NAME_MAX = 500;

/** Actions, tasks and orbs that deploy, whatever their version. */
const DEPLOYING_PARTS: readonly RegExp[] = [
  /^aws-actions\/(?:amazon-ecs-deploy-task-definition|aws-cloudformation-github-deploy|aws-lambda-deploy)\b/i,
  /^azure\/(?:webapps-deploy|webapps-container-deploy|functions-action|functions-container-action|k8s-deploy|static-web-apps-deploy|arm-deploy|container-apps-deploy-action|aci-deploy|spring-apps-deploy)\b/i,
  /^google-github-actions\/deploy-/i,
  /^actions\/deploy-pages\b/i,
  /^(?:peaceiris\/actions-gh-pages|jamesives\/github-pages-deploy-action)\b/i,
  /^octopusdeploy\/(?:deploy-release|create-release|run-runbook)[\w-]*\b/i,
  /^redhat-actions\/(?:oc-new-app|oc-installer-deploy|helm-deploy)\b/i,
  /^superfly\/flyctl-actions(?!\/setup)/i,
  /^(?:amondnet\/vercel-action|nwtgck\/actions-netlify|firebaseextended\/action-hosting-deploy)\b/i,
  /^cloudflare\/(?:wrangler-action|pages-action)\b/i,
  /^(?:appleboy\/scp-action|akhileshns\/heroku-deploy|burnett01\/rsync-deployments)\b/i,
  /^(?:AzureWebApp|AzureWebAppContainer|AzureRmWebAppDeployment|AzureFunctionApp|AzureFunctionAppContainer|KubernetesManifest|HelmDeploy|AzureResourceGroupDeployment|AzureResourceManagerTemplateDeployment|ServiceFabricDeploy|IISWebAppDeploymentOnMachineGroup|AzureCloudPowerShellDeployment|AzureStaticWebApp|AzureContainerApps|AzureSpringCloud|KubernetesDeploy)@/i,
  /^(?:[\w-]+\/)?(?:aws-ecs|aws-eks|gcp-cloud-run|kubernetes|helm|heroku)\/(?!install$|install-helm-client|setup\b|auth|update-kubeconfig)[\w-]*(?:deploy|update|upgrade|rollout|apply|release|run-task|install-helm-chart|create-or-update)[\w-]*/i,
  /^atlassian\/(?:[\w-]*deploy[\w-]*|aws-s3-deploy|kubectl-run|heroku-deploy|rsync-deploy|scp-deploy|ssh-run)\b/i,
];

/**
 * Flags looked at between two words of a command: without a limit, time grows with the square of their
 * number.
 */
const FLAGS_MAX = 20;

/**
 * Matches a tool, of any version, and the words that follow it, with flags before each. A flag takes the next
 * word as its value unless that is the awaited one: with a single way to read each flag, no line takes
 * exponential time.
 */
function words(tool: string, ...verbs: readonly string[]): string {
  const spelled = verbs.map((verb) => {
    const word = `(?:${verb})(?![\\w-])`;
    return `(?:\\s+-[\\w-]+(?:=\\S*|\\s+(?!${word})[^-\\s]\\S*)?){0,${FLAGS_MAX}}\\s+${word}`;
  });
  return `\\b(?:${tool})(?:@[\\w.^~-]{1,50})?${spelled.join('')}`;
}

function command(tool: string, ...verbs: readonly string[]): RegExp {
  return new RegExp(words(tool, ...verbs));
}

/** Words of a shell that put something where it runs. */
const DEPLOYING_COMMANDS: readonly RegExp[] = [
  /\b(?:kubectl|oc)\b[^|;&#]{0,500}?\s(?:apply|set\s+image|rollout)\b/,
  command('helm3?', 'upgrade|install'),
  command('terraform|tofu|terragrunt', 'apply'),
  command('pulumi', 'up'),
  command('cdk', 'deploy'),
  command('serverless|sls', 'deploy'),
  command('sam', 'deploy'),
  command('aws', 'ecs', 'update-service'),
  command('aws', 's3', 'sync'),
  command('aws', 'cloudformation', 'deploy'),
  command('aws', 'lambda', 'update-function-code'),
  command('gcloud', '(?:(?:beta|alpha)\\s+)?(?:run|app|functions)', '(?:services\\s+)?deploy'),
  command(
    'az',
    'webapp|functionapp|containerapp|deployment|staticwebapp',
    '(?:\\S+\\s+)?(?:deploy|up|create|update)',
  ),
  command('az', 'webapp|functionapp', 'deployment', 'source', 'config-zip'),
  command('flyctl|fly', 'deploy'),
  command('wrangler', '(?:pages\\s+)?(?:deploy|publish)'),
  /\bvercel\b[^|;&]{0,300}\s--prod\b/,
  new RegExp(`${words('netlify(?:-cli)?', 'deploy')}[^|;&]{0,300}\\s(?:--prod\\b|-p(?![\\w-]))`),
  command('firebase(?:-tools)?', 'deploy'),
  command('heroku', 'container:release'),
  command('git', 'push', 'heroku[\\w-]*'),
  /\bcap\s+\S+\s+deploy\b/,
  /\bansible-playbook\s+(?!--version)\S/,
  command('argocd', 'app', 'sync'),
  /\b(?:rsync|scp)\s[^|;&]{0,300}?[^\s@]@[^\s@:]{1,100}:/,
  /\bshuttle\s+deploy\b|\brailway\s+up\b|\bdokku\s+\S*deploy\b|\bnomad\s+job\s+run\b/,
];

/** Expressions that GitHub and Azure fill in; one may hold spaces and separators, and counts as one word. */
const EXPRESSION = /\$\{\{[^\n]{1,200}?\}\}/g;
/**
 * Tokens that a shell reads as one: quoted and escaped text, redirections, comments; and what ends a command.
 */
const SHELL_TOKEN = /"(?:[^"\\]|\\.)*"|'[^']*'|\\.|\d?>&\d?|(?<comment>(?<!\S)#[^\n]*)|(?<end>[;|&\n]|<\()/gs;
const COMMAND_END = /([;|&\n]|<\()/;
/** Commands that print or search: they name commands, and run none. */
const SAYING = new RegExp(
  `^\\s*(?:-\\s+)?(?:[({!]\\s*|(?:if|elif|then|else|do|while|sudo)\\s+|\\d?>&\\d\\s*)*` +
    `(?:@?(?:echo|printf|write-(?:host|output)|[ef]?grep)(?![\\w-])|${words('git', 'commit|log')})`,
  'i',
);
const DRY_RUN = /\s--dry-?run(?:=(?:client|server|true))?(?![\w=-])/;

/** Scripts of somebody's own, which say as much as a name. */
const OWN_SCRIPT =
  /\b(?:npm|yarn|pnpm|make|rake|just|task)\s+(?:run\s+)?deploy\b|\bdeploy\.(?:sh|py|rb|ps1)\b/;
const DEPLOYING_NAME = /(?<![a-z0-9])(?:deploy|release-to|rollout|promote|ship)(?![a-z0-9])/i;

/** Signs that the pipelines of a file collect. */
export interface Signs {
  readonly lines: readonly string[];
  readonly found: DeployEvidence[];
  /** What was said once of one pipeline is not said again. */
  readonly said: Set<string>;
  /** Commands that were looked at: jobs by the thousand may name the same ones. */
  readonly seen: Set<Node>;
}

export function signsOf({ lines }: Pick<Signs, 'lines'>): Signs {
  return { lines, found: [], said: new Set(), seen: new Set() };
}

export function verdict({ found }: Signs): { deployDetected: boolean; evidence: readonly DeployEvidence[] } {
  const score = found.reduce((sum, { strength }) => sum + WEIGHT[strength], 0);
  return { deployDetected: score >= ENOUGH, evidence: found.slice(0, EVIDENCE_MAX) };
}

export function sign(signs: Signs, { line, strength, why }: Omit<DeployEvidence, 'text'>): void {
  if (signs.found.length >= EVIDENCE_MAX) return;
  const id = `${line}\n${why}`;
  if (signs.said.has(id)) return;
  signs.said.add(id);
  const text = shorten((signs.lines[line - 1] ?? '').trim(), TEXT_MAX);
  signs.found.push({ line, text, why, strength });
}

export const certain = (signs: Signs, line: number, why: string): void =>
  sign(signs, { line, strength: 'certain', why });
export const strong = (signs: Signs, line: number, why: string): void =>
  sign(signs, { line, strength: 'strong', why });
export const weak = (signs: Signs, line: number, why: string): void =>
  sign(signs, { line, strength: 'weak', why });

export interface NamedPart {
  readonly kind: 'job' | 'step' | 'stage';
  /** A node stands in a line of its own. */
  readonly name: string | Node | undefined;
  readonly line: number;
}

/** A name counts once per kind, however many jobs have one. */
export function signOfName(signs: Signs, { kind, name: given, line }: NamedPart): void {
  const [name, place] = typeof given === 'object' ? [textOf(given), given.line] : [given, line];
  if (name === undefined || signs.said.has(kind) || !DEPLOYING_NAME.test(name.slice(0, NAME_MAX))) return;
  signs.said.add(kind);
  weak(signs, place, `the name of a ${kind}`);
}

/** Looks at an action, task, orb or pipe, as the file names it. */
export function signOfPart(signs: Signs, part: string | undefined, line: number): void {
  const name = part?.slice(0, NAME_MAX);
  if (name !== undefined && DEPLOYING_PARTS.some((pattern) => pattern.test(name)))
    strong(signs, line, `${shorten(name.split('@', 1)[0] ?? '')} deploys`);
}

/** It looks at every text below `node`: one command, a list, lists in lists, maps with commands. */
export function signOfCommands(signs: Signs, node: Node | undefined): void {
  if (node === undefined || signs.seen.has(node)) return;
  signs.seen.add(node);
  if (node.kind === 'scalar') {
    for (const [line, command] of commandsOf(signs, node)) signOfCommand(signs, command, line);
    return;
  }
  for (const item of itemsOf(node)) signOfCommands(signs, item);
  for (const { value } of entriesOf(node)) signOfCommands(signs, value);
}

export function signOfCommand(signs: Signs, command: string, line: number): void {
  const found = deployOf(command.trim().slice(0, COMMAND_MAX));
  if (found === undefined) return;
  if (found.strength === 'strong') strong(signs, line, `the command ${shorten(found.words, 60)}`);
  else weak(signs, line, 'a script that is named after it');
}

interface DeployWords {
  readonly strength: 'strong' | 'weak';
  readonly words: string;
}

/** Takes time in proportion to the length of `text`: who writes it may be hostile. */
export function deployOf(text: string): DeployWords | undefined {
  const run = executed(text);
  for (const pattern of DEPLOYING_COMMANDS) {
    const match = pattern.exec(run);
    if (match !== null) return { strength: 'strong', words: match[0] };
  }
  const script = OWN_SCRIPT.exec(run);
  return script === null ? undefined : { strength: 'weak', words: script[0] };
}

/** Returns the commands of `text` without comments, what is only printed or searched for, and rehearsals. */
function executed(text: string): string {
  if (text.startsWith('//')) return '';
  const plain = text.replace(EXPRESSION, '${…}');
  let done = '';
  let current = '';
  let from = 0;
  for (const { 0: token, index, groups } of plain.matchAll(SHELL_TOKEN)) {
    current += plain.slice(from, index);
    from = index + token.length;
    if (groups?.['end'] !== undefined) {
      done += withoutSaid(current) + token;
      current = '';
    } else if (groups?.['comment'] === undefined) current += token;
  }
  done += withoutSaid(current + plain.slice(from));
  // Quotes do not matter here: `sh -c "a --dry-run && b"` runs b.
  return done
    .split(COMMAND_END)
    .map((part) => (DRY_RUN.test(part) ? ' ' : part))
    .join('');
}

/** Takes out what is printed; `$(…)` in it is run before. */
function withoutSaid(command: string): string {
  if (!SAYING.test(command)) return command;
  return (command.replace(/'[^']*'/g, '').match(/\$\([^()]*/g) ?? []).join(' ');
}

/**
 * Yields the lines of the file that a text stands on, those that go on in the next one joined, each with the
 * line it begins at.
 */
function* commandsOf(signs: Signs, node: ScalarNode): Generator<[line: number, command: string]> {
  if (node.line === node.endLine) {
    yield [node.line, node.text];
    return;
  }
  let began = 0;
  let joined = '';
  for (let line = node.line; line <= node.endLine; line++) {
    const written = signs.lines[line - 1] ?? '';
    const text = (line === node.line ? opening(written) : written).trim();
    if (joined === '') began = line;
    const goesOn = !/^\s*#/.test(text) && (node.isFolded || text.endsWith('\\'));
    joined += `${text.replace(/\\$/, '')} `;
    if (goesOn && line < node.endLine) continue;
    yield [began, joined];
    joined = '';
  }
}

/** `run: > # why` is a comment of YAML, and ends before the commands that are joined to this line. */
function opening(line: string): string {
  return line.replace(/([>|][-+\d]{0,2})\s+#[^]*$/, '$1');
}
