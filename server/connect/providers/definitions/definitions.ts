/**
 * These are the readers of CI files, the very ones of `svc ci validate`; the rest of discovery knows them
 * from here.
 */
export {
  BYTES_MAX,
  CI_DEFINITION_PROVIDERS,
  discoverDefinition,
  isCandidatePath,
  isDefinitionFolder,
  isPlace,
  leadsTo,
  notFollowed,
  providerOfPath,
  READERS_VERSION,
  tooManyBytes,
} from '@svc/sdk/ci-definitions';
export type {
  CiDefinitionProvider,
  DefinedPipeline,
  DefinitionFile,
  ParsedDefinition,
} from '@svc/sdk/ci-definitions';
