/** Says which files of a repository are looked at. Paths are relative to its root, with `/`. */
import type { CiDefinitionProvider } from './types.ts';

const PATTERNS: readonly (readonly [CiDefinitionProvider, RegExp])[] = [
  ['github', /^\.github\/workflows\/[^/]+\.ya?ml$/],
  ['gitlab', /^\.gitlab-ci\.yml$/],
  ['circleci', /^\.circleci\/[^/]+\.ya?ml$/],
  ['bitbucket', /^bitbucket-pipelines\.ya?ml$/],
  ['azure', /^(?:\.(?:azure[^/]*|pipelines)\/)?azure-pipelines[^/]*\.ya?ml$/],
  ['azure', /^\.(?:azure[^/]*|pipelines)\/[^/]+\.ya?ml$/],
  ['buildkite', /^\.buildkite\/[^/]+\.ya?ml$/],
  ['drone', /^\.drone\.(?:ya?ml|jsonnet|star)$/],
  ['jenkins', /^(?:ci\/)?Jenkinsfile$|^Jenkinsfile\.[^/]+$|^[^/]+\.jenkinsfile$/],
];

/**
 * The folders that a listing has to look into, beside the root; a listing without recursion is enough for
 * each.
 */
const FOLDER = /^(?:\.github\/workflows|\.circleci|\.buildkite|\.azure[^/]*|\.pipelines|ci)$/;

/** Folders on the way to those that are looked into. */
const LEADS_TO: Readonly<Record<string, string>> = { '.github': '.github/workflows' };

/** Files of CI systems that are not read; some look like those of one that is. */
const OTHERS: readonly (readonly [system: string, RegExp])[] = [
  ['Travis CI', /^\.travis\.ya?ml$/],
  ['AppVeyor', /^\.?appveyor\.ya?ml$/],
  ['AWS CodeBuild', /^buildspec[^/]*\.ya?ml$/],
  ['Google Cloud Build', /^cloudbuild[^/]*\.ya?ml$/],
  ['Cirrus CI', /^\.cirrus\.ya?ml$/],
  ['Woodpecker CI', /^\.woodpecker\.ya?ml$|^\.woodpecker\/[^/]+\.ya?ml$/],
  ['Semaphore', /^\.semaphore\/[^/]+\.ya?ml$/],
  ['Codefresh', /^codefresh\.ya?ml$/],
  ['Wercker', /^wercker\.ya?ml$/],
  ['Bitrise', /^bitrise\.ya?ml$/],
  ['Docker Compose', /^(?:docker-)?compose\.ya?ml$/],
];

/**
 * Names that no other file has. Others in the folders of CI systems may be of helpers, such as
 * `docker-compose.yml`.
 */
const OWN_NAME =
  /^(?!\.(?:circleci|buildkite|azure[^/]*|pipelines)\/)|^\.circleci\/config\.|^\.buildkite\/pipeline[^/]*$|^\.(?:azure[^/]*|pipelines)\/azure-pipelines[^/]*$/;

/**
 * Any other YAML file at the root may be one of Azure, which lets the name be chosen: its content decides.
 */
const ROOT_YAML = /^[^/]+\.ya?ml$/;

/**
 * Returns `undefined` when the path is not one of a CI system; the content may still say so when
 * `isCandidatePath`.
 */
export function providerOfPath(path: string): CiDefinitionProvider | undefined {
  return PATTERNS.find(([, pattern]) => pattern.test(path))?.[0];
}

export function isDefinitionFolder(path: string): boolean {
  return FOLDER.test(path);
}

/**
 * Returns true where the path is one of a CI system and its name alone says that the file is a definition.
 */
export function isOwnName(path: string): boolean {
  return providerOfPath(path) !== undefined && OWN_NAME.test(path);
}

/**
 * Returns true where a file is worth being read: the path is of a CI system, or the content may show that it
 * is of Azure.
 */
export function isCandidatePath(path: string): boolean {
  return providerOfPath(path) !== undefined || ROOT_YAML.test(path);
}

/** Returns the other system that has its file there. */
export function otherSystemOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return OTHERS.find(([, pattern]) => pattern.test(path) || pattern.test(name))?.[0];
}

/** Returns the folder that is looked into, of one on the way to it. */
export function leadsTo(folder: string): string | undefined {
  return Object.hasOwn(LEADS_TO, folder) ? LEADS_TO[folder] : undefined;
}

/**
 * Returns true for the path of a file, of a folder that is looked into, or of one on the way: what stands
 * there matters, even when it cannot be read.
 */
export function isPlace(path: string): boolean {
  return providerOfPath(path) !== undefined || isDefinitionFolder(path) || leadsTo(path) !== undefined;
}

/** What links and submodules lead to is another repository, or anything at all. */
export function notFollowed(kind: 'link' | 'module'): string {
  return `${kind === 'link' ? 'a symbolic link' : 'a submodule'}, which is not followed`;
}
