/**
 * `@svc/sdk/ci-definitions`: what the files of eight CI systems define, read without asking anybody. Needs the package
 * `yaml` and nothing of Node; the server's discovery and `svc ci validate` are the same code.
 *
 *     const { pipelines, problems } = parseDefinition({ path: '.github/workflows/ci.yml', text });
 */
export { DEPTH_MAX, NODES_MAX, TEXT_MAX } from './load.ts';
export { isCandidatePath, isDefinitionFolder, providerOfPath } from './paths.ts';
export { isDefinition, parseDefinition, READERS_VERSION } from './parse.ts';
export type { DefinitionFile } from './parse.ts';
export { CI_DEFINITION_PROVIDERS } from './types.ts';
export type {
  CiDefinitionProvider,
  DefinedJob,
  DefinedPipeline,
  DefinitionProblem,
  DeployEvidence,
  ParsedDefinition,
} from './types.ts';
