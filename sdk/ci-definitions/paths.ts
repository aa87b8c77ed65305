/** Which files of a repository are looked at. Paths are relative to its root, with `/`. */
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

/** The folders that a listing has to look into, beside the root; a listing without recursion is enough for each. */
const FOLDER = /^(?:\.github\/workflows|\.circleci|\.buildkite|\.azure[^/]*|\.pipelines|ci)$/;

/** Names that no other file has. Others in the folders of CI systems may be of helpers, such as `docker-compose.yml`. */
const OWN_NAME =
  /^(?!\.(?:circleci|buildkite|azure[^/]*|pipelines)\/)|^\.circleci\/config\.|^\.buildkite\/pipeline[^/]*$|^\.(?:azure[^/]*|pipelines)\/azure-pipelines[^/]*$/;

/** Any other YAML file at the root may be one of Azure, which lets the name be chosen: its content decides. */
const ROOT_YAML = /^[^/]+\.ya?ml$/;

/** `undefined` when the path is not one of a CI system; the content may still say so when `isCandidatePath`. */
export function providerOfPath(path: string): CiDefinitionProvider | undefined {
  return PATTERNS.find(([, pattern]) => pattern.test(path))?.[0];
}

export function isDefinitionFolder(path: string): boolean {
  return FOLDER.test(path);
}

/** Of the paths of CI systems: the name alone says that the file is a definition. */
export function isOwnName(path: string): boolean {
  return providerOfPath(path) !== undefined && OWN_NAME.test(path);
}

/** Worth being read: the path is of a CI system, or the content may show that it is of Azure. */
export function isCandidatePath(path: string): boolean {
  return providerOfPath(path) !== undefined || ROOT_YAML.test(path);
}
