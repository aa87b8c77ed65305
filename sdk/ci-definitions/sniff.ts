/** Tells whose file it is by its content, for files whose name is chosen freely. */
import { at, entriesOf, itemsOf, textOf, type Node } from './node.ts';
import { wordsIn } from './lines.ts';
import { isGitlabFile } from './gitlab.ts';
import type { CiDefinitionProvider } from './types.ts';

/** A YAML file at the root under any name may be one of Azure. */
export function isAzure(root: Node | undefined): boolean {
  const has = (...keys: readonly string[]): boolean => keys.some((key) => at(root, key) !== undefined);
  return has('pool', 'trigger', 'stages', 'jobs') && has('steps', 'stages', 'jobs') && hasAzureStep(root, 0);
}

/** Root keys of a pipeline of Azure that a template of its parts does not have. */
const AZURE_ROOT = ['trigger', 'pr', 'schedules', 'pool', 'resources', 'name', 'extends'];

/**
 * Tells by its content whether a file is of the CI system that looks at its path, or at the root, where that
 * is `undefined`, of Azure.
 */
export function isOf(provider: CiDefinitionProvider | undefined, root: Node | undefined): boolean {
  const has = (key: string): boolean => at(root, key) !== undefined;
  if (provider === undefined) return isAzure(root);
  if (provider === 'circleci')
    return at(root, 'workflows')?.kind === 'map' || at(root, 'jobs')?.kind === 'map';
  if (provider === 'buildkite')
    return itemsOf(root).some(isBuildkiteStep) || at(root, 'steps')?.kind === 'list';
  const parts = ['stages', 'jobs', 'phases', 'steps', 'extends'];
  const isRoot = AZURE_ROOT.some(has) || (has('variables') && !has('parameters'));
  return provider !== 'azure' || (isRoot && parts.some(has));
}

function isBuildkiteStep(step: Node): boolean {
  const keys = wordsIn('command commands script label trigger plugins group wait block input');
  return textOf(step) === 'wait' || keys.some((key) => at(step, key) !== undefined);
}

/** Levels: stages, jobs, strategy, hook, steps and their items. */
const LEVELS_MAX = 16;

function hasAzureStep(node: Node | undefined, level: number): boolean {
  if (node === undefined || level > LEVELS_MAX) return false;
  if (node.kind === 'list')
    return node.items.some((item) => isAzureStep(item) || hasAzureStep(item, level + 1));
  return entriesOf(node).some(
    ({ key, value }) =>
      (/^(?:steps|stages|jobs|strategy|runOnce|rolling|canary|deploy)$/.test(key) || key.startsWith('${{')) &&
      hasAzureStep(value, level + 1),
  );
}

function isAzureStep(item: Node): boolean {
  return ['task', 'script', 'bash', 'pwsh', 'powershell'].some((key) => textOf(at(item, key)) !== undefined);
}

/** Makes a guess for a file at a path that no CI system looks at. */
export function guessProvider(documents: readonly Node[]): CiDefinitionProvider | undefined {
  const [root] = documents;
  if (documents.some((document) => textOf(at(document, 'kind')) === 'pipeline')) return 'drone';
  const jobs = at(root, 'jobs');
  if (jobs?.kind === 'map' && (at(root, 'on') ?? at(root, 'true')) !== undefined) return 'github';
  if (at(root, 'workflows')?.kind === 'map' || (jobs?.kind === 'map' && at(root, 'version')))
    return 'circleci';
  if (at(root, 'pipelines')?.kind === 'map') return 'bitbucket';
  if (isAzure(root)) return 'azure';
  const steps = root?.kind === 'list' ? root : at(root, 'steps');
  if (itemsOf(steps).some((step) => at(step, 'command') ?? at(step, 'commands') ?? at(step, 'label')))
    return 'buildkite';
  return isGitlabFile(documents.at(-1)) ? 'gitlab' : undefined;
}
