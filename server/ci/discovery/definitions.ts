/** The readers of CI files, the very ones of `svc ci validate`; the rest of discovery knows them from here. */
export {
  CI_DEFINITION_PROVIDERS,
  isCandidatePath,
  isDefinition,
  isDefinitionFolder,
  parseDefinition,
  providerOfPath,
  READERS_VERSION,
  TEXT_MAX,
} from '@svc/sdk/ci-definitions';
export type { CiDefinitionProvider, DefinedPipeline, ParsedDefinition } from '@svc/sdk/ci-definitions';
