/** It knows what webhooks, answers and files of CI systems and repositories' hosts mean, and no table. */
import { declareFeature } from '../../kit/feature.ts';

export { STANDARD_PREFIX } from './authenticate.ts';
export { digest, unlessMissing } from './host.ts';
export type { CommitState, Hooks, Tree, TreeEntry } from './host.ts';
export {
  BYTES_MAX,
  isCandidatePath,
  isDefinitionFolder,
  isPlace,
  leadsTo,
  notFollowed,
  providerOfPath,
  READERS_VERSION,
  tooManyBytes,
} from './definitions/definitions.ts';
export type { CiDefinitionProvider } from './definitions/definitions.ts';
export { RESULTS_CHARS_MAX } from './definitions/results.ts';
export type {
  Measured,
  FoundPipeline,
  FoundProblem,
  ReadFile,
  ReadResult,
  Snapshot,
} from './definitions/results.ts';
export { createReaders } from './definitions/threads.ts';
export type { Readers, Reading } from './definitions/threads.ts';
export type { CiEvent, FactName, Facts, JobEvent, RunName } from './event.ts';
export { forgeApi, ForgeError } from './forges/call.ts';
export type { ForgeApi, ForgeDeps, ForgeProblem } from './forges/call.ts';
export { apiUrlOf, forgeOf, HOSTS, KNOWN_HOSTS, openToken, sealToken } from './forges/forge.ts';
export { REPOSITORIES_MAX, rootOf } from './forges/listing.ts';
export type { SeenRepository } from './forges/listing.ts';
export { mappingProblem } from './generic/mapping.ts';
export { ASKABLE, ASKABLE_ID, askRun, hooksOf, listRepositories, postStatus, treeOf } from './hosts.ts';
export { PROVIDERS } from './known.ts';
export { at, clip, header, idOf, text } from './read.ts';
export { repositoryKeyOfUrl, repositoryName, repositoryOfUrl, wrongPath } from './repository.ts';
export type { RepositoryName } from './repository.ts';
export type { GenericMapping, Headers, RepositoryRef, RunReport, Verdict } from './types.ts';
export { CI_PROVIDERS, CI_STATUSES, FORGES, SCHEMES } from './words.ts';
export type { CiProvider, CiStatus, ForgeId, Scheme } from './words.ts';

export const providersFeature = declareFeature({ name: 'providers', start: () => ({}) });
