/** One file of a repository to the pipelines that it defines. Never throws, whatever the file holds. */
import { readAzure } from './azure.ts';
import { readBitbucket } from './bitbucket.ts';
import { readBuildkite } from './buildkite.ts';
import { readCircleci } from './circleci.ts';
import { readDrone } from './drone.ts';
import { readGithub } from './github.ts';
import { readGitlab } from './gitlab.ts';
import { readJenkins } from './jenkins.ts';
import { LINES_MAX, loadYaml, PROBLEMS_MAX, TEXT_MAX } from './load.ts';
import { isOwnName, providerOfPath } from './paths.ts';
import { newSigns, pipelineOf, type Read, type Reading } from './reading.ts';
import { guessProvider, isOf } from './sniff.ts';
import type { CiDefinitionProvider, DefinitionProblem, ParsedDefinition } from './types.ts';

/** Raised with each change by which the same file is read otherwise: what was read before it is not taken for an answer. */
export const READERS_VERSION = 2;

export interface DefinitionFile {
  /** Relative to the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
  /** When it is known, such as from a setting of the project; else the path tells, or the content. */
  readonly provider?: CiDefinitionProvider;
}

const READERS: Readonly<Record<Exclude<CiDefinitionProvider, 'jenkins'>, Read>> = {
  github: readGithub,
  gitlab: readGitlab,
  circleci: readCircleci,
  bitbucket: readBitbucket,
  azure: readAzure,
  buildkite: readBuildkite,
  drone: readDrone,
};

export function parseDefinition(file: DefinitionFile): ParsedDefinition {
  try {
    return parse(file);
  } catch (error) {
    const provider = file.provider ?? providerOfPath(file.path);
    const message = `the file cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    return { ...(provider && { provider }), ...failed({ line: 1, column: 1, message, severity: 'error' }) };
  }
}

function parse({ path, text: written, provider: told }: DefinitionFile): ParsedDefinition {
  const known = told ?? providerOfPath(path);
  const named = known === undefined ? {} : { provider: known };
  const text = written.replace(/^\uFEFF/, '');
  if (text.length > TEXT_MAX) {
    const message = `the file has ${text.length} characters, the limit is ${TEXT_MAX}`;
    return { ...named, ...failed({ line: 1, column: 1, message, severity: 'error' }) };
  }
  if (text.trim() === '')
    return { ...named, ...failed({ line: 1, column: 1, message: 'the file is empty', severity: 'error' }) };
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > LINES_MAX) {
    const message = `the file has ${lines.length} lines, the limit is ${LINES_MAX}`;
    return { ...named, ...failed({ line: LINES_MAX, column: 1, message, severity: 'error' }) };
  }
  const problems: DefinitionProblem[] = [];
  const reading = { path, lines, problems };
  if (known === 'jenkins' || (known === undefined && looksLikeJenkins(text))) {
    const jenkins: Reading = { ...reading, provider: 'jenkins', documents: [] };
    return settle('jenkins', readJenkins(jenkins, text.replaceAll('\r\n', '\n')), problems);
  }
  if (known === 'drone' && /\.(?:jsonnet|star)$/.test(path))
    return program({ ...reading, provider: known, documents: [] });
  const loaded = loadYaml(text);
  problems.push(...loaded.problems);
  if (problems.some(isError)) return settle(known, [], problems);
  const provider = known ?? guessProvider(loaded.documents);
  if (provider === undefined || provider === 'jenkins') {
    const message = 'the content is of no CI system that is known';
    return failed(...problems, { line: 1, column: 1, message, severity: 'error' });
  }
  if (loaded.documents.length === 0)
    return settle(
      provider,
      [],
      [{ line: 1, column: 1, message: 'the file holds nothing', severity: 'error' }],
    );
  return settle(provider, READERS[provider]({ ...reading, provider, documents: loaded.documents }), problems);
}

const isError = ({ severity }: DefinitionProblem): boolean => severity === 'error';

function settle(
  provider: CiDefinitionProvider | undefined,
  pipelines: ParsedDefinition['pipelines'],
  problems: readonly DefinitionProblem[],
): ParsedDefinition {
  return {
    ...(provider && { provider }),
    pipelines: problems.some(isError) ? [] : pipelines,
    problems: bounded(problems),
  };
}

/** In the order of the file; where there are too many, errors are kept before warnings. */
function bounded(problems: readonly DefinitionProblem[]): readonly DefinitionProblem[] {
  const errors = problems.filter(isError);
  const warnings = problems.filter((problem) => !isError(problem));
  const kept = [...errors.sort(byPlace), ...warnings.sort(byPlace)].slice(0, PROBLEMS_MAX).sort(byPlace);
  const last = kept.at(-1);
  if (last === undefined || kept.length === problems.length) return kept;
  const message = `more than ${PROBLEMS_MAX} problems: no others are shown`;
  return [...kept, { ...last, message, severity: 'warning' }];
}

const byPlace = (a: DefinitionProblem, b: DefinitionProblem): number =>
  a.line - b.line || a.column - b.column;

function failed(...problems: readonly DefinitionProblem[]): ParsedDefinition {
  return { pipelines: [], problems };
}

/** Jsonnet and Starlark make the definition when they are run: it is listed, not read. */
function program(reading: Reading): ParsedDefinition {
  const signs = newSigns(reading);
  const pipeline = pipelineOf(reading, {
    name: undefined,
    jobs: [],
    triggers: [],
    signs,
    dynamic: true,
    opaque: true,
    partial: true,
  });
  return { provider: reading.provider, pipelines: [pipeline], problems: [] };
}

function looksLikeJenkins(text: string): boolean {
  // No `\s`: it takes line ends too, and a file of empty lines would be gone through once for each of them.
  return /^[ \t]*(?:pipeline|node(?:[ \t]*\([^)\n]*\))?)[ \t]*\n?[ \t]*\{|^[ \t]*@Library[ \t]*\(/m.test(
    text,
  );
}

/**
 * Is the file worth a record? At a path whose name says so, it is, and where a setting says whose it is; elsewhere the
 * content decides, of a helper of a pipeline as of any YAML file at the root.
 */
export function isDefinition({ path, text, provider }: DefinitionFile): boolean {
  const byPath = providerOfPath(path);
  if (isOwnName(path) || (provider !== undefined && provider !== byPath)) return true;
  // Too much to be looked at here: that is said when it is read.
  if (text.length > TEXT_MAX || text.split('\n').length > LINES_MAX) return byPath !== undefined;
  const { documents, problems } = loadYaml(text);
  // What cannot be read may well be a pipeline where a CI system looks for one.
  if (problems.some(isError)) return byPath !== undefined;
  return isOf(byPath, documents[0]);
}
