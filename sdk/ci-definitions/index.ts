/**
 * `@svc/sdk/ci-definitions` reads what the files of eight CI systems define, without asking anybody. It needs
 * the package `yaml` and nothing of Node; the server's discovery and `svc ci validate` are the same code. The
 * time that a file takes is bounded, whatever it holds: half a second for the largest.
 *
 *     const { pipelines, problems } = parseDefinition({ path: '.github/workflows/ci.yml', text });
 */
export { BYTES_MAX, tooManyBytes } from './bytes.ts';
export {
  isCandidatePath,
  isDefinitionFolder,
  isPlace,
  leadsTo,
  notFollowed,
  providerOfPath,
} from './paths.ts';
export { discoverDefinition, parseDefinition, READERS_VERSION } from './parse.ts';
export type { DefinitionFile } from './parse.ts';
export { CI_DEFINITION_PROVIDERS } from './types.ts';
export { readYaml, readYamlValue } from './value.ts';
export type { YamlDocument, YamlPlace, YamlProblem } from './value.ts';
export type {
  CiDefinitionProvider,
  DefinedJob,
  DefinedPipeline,
  DefinitionProblem,
  DeployEvidence,
  ParsedDefinition,
} from './types.ts';
