/** Does a pipeline deploy? Signs are collected with their lines, and added up: 2 is enough. */
import { entriesOf, itemsOf, type Node, type ScalarNode } from './node.ts';
import { shorten } from './load.ts';
import type { DeployEvidence } from './types.ts';

const WEIGHT = { certain: 2, strong: 2, weak: 1 } as const;
const ENOUGH = 2;
const EVIDENCE_MAX = 50;
const TEXT_MAX = 200;
/** Characters of a command that are looked at. */
const COMMAND_MAX = 2000;

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
  /^(?:[\w-]+\/)?(?:aws-ecs|aws-eks|gcp-cloud-run|kubernetes|helm|heroku)\/(?!install\b|setup\b|auth)[\w-]*(?:deploy|update|upgrade|rollout|apply|release|run-task|install-helm-chart|create-or-update)[\w-]*/i,
  /^atlassian\/(?:[\w-]*deploy[\w-]*|aws-s3-deploy|kubectl-run|heroku-deploy|rsync-deploy|scp-deploy|ssh-run)\b/i,
];

/** Words of a shell that put something where it runs. */
const DEPLOYING_COMMANDS: readonly RegExp[] = [
  /\b(?:kubectl|oc)\b[^|;&#]{0,500}?\s(?:apply|set\s+image|rollout)\b/,
  /\bhelm\b(?:\s+--?[\w-]+(?:[= ][^-\s]\S*)?)*\s+(?:upgrade|install)\b/,
  /\b(?:terraform|tofu|terragrunt)\b(?:\s+-\S+)*\s+apply\b/,
  /\bpulumi\s+up\b/,
  /\bcdk\s+deploy\b/,
  /\b(?:serverless|sls)\s+deploy\b/,
  /\bsam\s+deploy\b/,
  /\baws\b(?:\s+--\S+(?:\s+[^-\s]\S*)?)*\s+(?:ecs\s+update-service|s3\s+sync|cloudformation\s+deploy|lambda\s+update-function-code)\b/,
  /\bgcloud\s+(?:(?:beta|alpha)\s+)?(?:run|app|functions)\s+(?:services\s+)?deploy\b/,
  /\baz\s+(?:webapp|functionapp|containerapp|deployment|staticwebapp)\s+(?:\S+\s+)?(?:deploy|up|create|update)\b/,
  /\b(?:flyctl|fly)\s+deploy\b/,
  /\bwrangler\s+(?:pages\s+)?(?:deploy|publish)\b/,
  /\bvercel\b[^|;&]{0,300}\s--prod\b/,
  /\bnetlify\s+deploy\b[^|;&]{0,300}\s--prod\b/,
  /\bfirebase\s+deploy\b/,
  /\bheroku\s+container:release\b/,
  /\bgit\s+push\s+(?:-\S+\s+)*heroku\b/,
  /\bcap\s+\S+\s+deploy\b/,
  /\bansible-playbook\s+(?!--version)\S/,
  /\bargocd\s+app\s+sync\b/,
  /\b(?:rsync|scp)\s[^|;&]{0,300}?[^\s@]@[^\s@:]{1,100}:/,
  /\bshuttle\s+deploy\b|\brailway\s+up\b|\bdokku\s+\S*deploy\b|\bnomad\s+job\s+run\b/,
];

/** Somebody's own script: says as much as a name. */
const OWN_SCRIPT =
  /\b(?:npm|yarn|pnpm|make|rake|just|task)\s+(?:run\s+)?deploy\b|\bdeploy\.(?:sh|py|rb|ps1)\b/;
const DEPLOYING_NAME = /(?<![a-z0-9])(?:deploy|release-to|rollout|promote|ship)(?![a-z0-9])/i;

/** What the pipelines of a file collect. */
export interface Signs {
  readonly lines: readonly string[];
  readonly found: DeployEvidence[];
  /** What was said once of one pipeline is not said again. */
  readonly said: Set<string>;
  /** Commands that were looked at: jobs by the thousand may name the same ones. */
  readonly seen: Set<Node>;
}

export function signsOf(lines: readonly string[]): Signs {
  return { lines, found: [], said: new Set(), seen: new Set() };
}

export function verdict({ found }: Signs): { deployDetected: boolean; evidence: readonly DeployEvidence[] } {
  const score = found.reduce((sum, { strength }) => sum + WEIGHT[strength], 0);
  return { deployDetected: score >= ENOUGH, evidence: found.slice(0, EVIDENCE_MAX) };
}

export function sign(signs: Signs, line: number, strength: DeployEvidence['strength'], why: string): void {
  const id = `${line}\n${why}`;
  if (signs.said.has(id) || signs.found.length >= EVIDENCE_MAX) return;
  signs.said.add(id);
  const text = shorten((signs.lines[line - 1] ?? '').trim(), TEXT_MAX);
  signs.found.push({ line, text, why, strength });
}

/** A name counts once per kind, however many jobs have one. */
export function signOfName(
  signs: Signs,
  kind: 'job' | 'step' | 'stage',
  name: string | undefined,
  line: number,
): void {
  if (name === undefined || !DEPLOYING_NAME.test(name) || signs.said.has(kind)) return;
  signs.said.add(kind);
  sign(signs, line, 'weak', `the name of a ${kind}`);
}

/** An action, task, orb or pipe, as the file names it. */
export function signOfPart(signs: Signs, part: string | undefined, line: number): void {
  if (part !== undefined && DEPLOYING_PARTS.some((pattern) => pattern.test(part)))
    sign(signs, line, 'strong', `${shorten(part.replace(/@.*$/, ''))} deploys`);
}

/** Every text below `node`: one command, a list, lists in lists, maps with commands. */
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
  const said = command.trim().slice(0, COMMAND_MAX);
  if (isOnlySaid(said)) return;
  const match = DEPLOYING_COMMANDS.map((pattern) => pattern.exec(said)).find((found) => found !== null);
  if (match !== undefined && match !== null)
    sign(signs, line, 'strong', `the command ${shorten(match[0], 60)}`);
  else if (OWN_SCRIPT.test(said)) sign(signs, line, 'weak', 'a script that is named after it');
}

/** A comment, or words that are printed and lead to nothing. */
function isOnlySaid(command: string): boolean {
  return (
    /^(?:-\s+)?#|^\/\//.test(command) ||
    (/^(?:-\s+)?(?:echo|printf)\b/.test(command) && !/[|;&]/.test(command))
  );
}

/** Lines of the file that a text stands on, those that go on in the next one joined, each with the line it begins at. */
function* commandsOf(signs: Signs, node: ScalarNode): Generator<[line: number, command: string]> {
  let began = 0;
  let joined = '';
  for (let line = node.line; line <= node.endLine; line++) {
    const written = signs.lines[line - 1] ?? '';
    const text = (node.line === node.endLine ? node.text : written).trim();
    if (joined === '') began = line;
    const goesOn = !/^\s*#/.test(text) && (node.isFolded || text.endsWith('\\'));
    joined += `${text.replace(/\\$/, '')} `;
    if (goesOn && line < node.endLine) continue;
    yield [began, joined];
    joined = '';
  }
}
