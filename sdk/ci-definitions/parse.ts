/**
 * Reads one file of a repository to the pipelines that it defines. It never throws, whatever the file holds.
 */
import { readAzure } from './azure.ts';
import { readBitbucket } from './bitbucket.ts';
import { readBuildkite } from './buildkite.ts';
import { readCircleci } from './circleci.ts';
import { readDrone } from './drone.ts';
import { readGithub } from './github.ts';
import { readGitlab } from './gitlab.ts';
import { readJenkins } from './jenkins.ts';
import { decode } from './bytes.ts';
import { loadYaml, PROBLEMS_MAX, type LoadedYaml } from './load.ts';
import { shorten } from './lines.ts';
import { isOwnName, otherSystemOf, providerOfPath } from './paths.ts';
import { pipelineOf, type Read, type Reading } from './reading.ts';
import { guessProvider, isOf } from './sniff.ts';
import type { CiDefinitionProvider, DefinitionProblem, ParsedDefinition } from './types.ts';

/**
 * Raised with each change by which the same file is read otherwise: what was read before it is not taken for
 * an answer.
 */
export const READERS_VERSION = 3;

/** Characters of a message: it may quote what is wrong. */
const MESSAGE_MAX = 1_000;
/** A file of half a megabyte has more where its lines hold next to nothing. */
const LINES_MAX = 20_000;

export interface DefinitionFile {
  /** Relative to the root of the repository, with `/`. */
  readonly path: string;
  /** Bytes, where they come from a repository: then their encoding is looked at too. */
  readonly text: string | Uint8Array;
  /**
   * Its system when that is known, such as from a setting of the project; else the path tells, or the
   * content.
   */
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

/** Reads what the file defines, wherever it lies. */
export function parseDefinition(file: DefinitionFile): ParsedDefinition {
  const known = file.provider ?? providerOfPath(file.path);
  return guarded(known, () => {
    const opened = open(file);
    return isFailure(opened) ? settle(known, [], opened) : parse(file, known, opened);
  });
}

/**
 * Reads the same, as a search through a repository takes it. It is undefined when the file is not worth a
 * record: at a path whose name says that it is a definition, or where a setting says whose it is, it always
 * is; elsewhere the content decides, of a helper of a pipeline as of any YAML file at the root.
 */
export function discoverDefinition(file: DefinitionFile): ParsedDefinition | undefined {
  const { path, provider } = file;
  const byPath = providerOfPath(path);
  const known = provider ?? byPath ?? 'azure';
  const isTold = isOwnName(path) || (provider !== undefined && provider !== byPath);
  return guarded(known, () => {
    const opened = open(file);
    // What cannot be read may well be a pipeline where a CI system looks for one; elsewhere it is nobody's
    // loss.
    if (isFailure(opened)) return isTold || byPath !== undefined ? settle(known, [], opened) : undefined;
    if (isTold) return parse(file, known, opened);
    const loaded = loadYaml(opened.text);
    const isOne = loaded.problems.length > 0 ? byPath !== undefined : isOf(byPath, loaded.documents[0]);
    return isOne ? parse(file, known, { ...opened, loaded }) : undefined;
  });
}

function guarded<T>(provider: CiDefinitionProvider | undefined, work: () => T): T | ParsedDefinition {
  try {
    return work();
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return settle(provider, [], [errorAt(1, `the file cannot be read: ${said}`)]);
  }
}

interface Opened {
  readonly text: string;
  readonly lines: readonly string[];
  readonly problems: readonly DefinitionProblem[];
  readonly loaded?: LoadedYaml;
}

/** Returns its text, or why it has none. */
function open({ text: written }: DefinitionFile): Opened | readonly DefinitionProblem[] {
  const bytes = typeof written === 'string' ? new TextEncoder().encode(written) : written;
  const { text: decoded, problems } = decode(bytes);
  if (problems.some(isError)) return problems;
  const text = decoded.replace(/^\uFEFF/, '');
  if (text.trim() === '') return [errorAt(1, 'the file is empty')];
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > LINES_MAX)
    return [errorAt(LINES_MAX, `the file has ${lines.length} lines, the limit is ${LINES_MAX}`)];
  return { text, lines, problems };
}

const isFailure = (opened: Opened | readonly DefinitionProblem[]): opened is readonly DefinitionProblem[] =>
  Array.isArray(opened);

function parse(
  { path }: DefinitionFile,
  known: CiDefinitionProvider | undefined,
  { text, lines, problems: found, loaded: before }: Opened,
): ParsedDefinition {
  const problems = [...found];
  const reading = { path, lines, problems };
  if (known === 'jenkins' || (known === undefined && looksLikeJenkins(text))) {
    const jenkins: Reading = { ...reading, provider: 'jenkins', documents: [] };
    return settle('jenkins', readJenkins(jenkins, text.replaceAll('\r\n', '\n')), problems);
  }
  if (known === 'drone' && /\.(?:jsonnet|star)$/.test(path))
    return program({ ...reading, provider: known, documents: [] });
  const other = known === undefined ? otherSystemOf(path) : undefined;
  if (other !== undefined) return failed(errorAt(1, `a file of ${other}, which is not read`));
  const loaded = before ?? loadYaml(text);
  problems.push(...loaded.problems);
  if (problems.some(isError)) return settle(known, [], problems);
  const provider = known ?? guessProvider(loaded.documents);
  if (provider === undefined || provider === 'jenkins')
    return failed(...problems, errorAt(1, 'the content is of no CI system that is known'));
  if (loaded.documents.length === 0)
    return settle(provider, [], [...problems, errorAt(1, 'the file holds nothing')]);
  problems.push(...refusedBy(provider, loaded));
  return settle(provider, READERS[provider]({ ...reading, provider, documents: loaded.documents }), problems);
}

function errorAt(line: number, message: string): DefinitionProblem {
  return { line, column: 1, message, severity: 'error' };
}

/** Names of those that refuse a key that is given twice. */
const STRICT: { readonly [Provider in CiDefinitionProvider]?: string } = {
  github: 'GitHub',
  azure: 'Azure Pipelines',
};

/**
 * GitHub and Azure refuse a key that is given twice, in whatever case, but not conditions such as `${{ else
 * }}`, and Azure anchors too. The others take the last one, so that it is a mistake all the same.
 */
function refusedBy(
  provider: CiDefinitionProvider,
  { repeated, anchor }: LoadedYaml,
): readonly DefinitionProblem[] {
  const strict = STRICT[provider];
  const problems = repeated
    .filter(({ key, isOtherCase }) => (strict === undefined ? !isOtherCase : !key.includes('${{')))
    .map(({ line, column, key, first }): DefinitionProblem => {
      const given = `the key "${shorten(key)}" was given before, in line ${first}`;
      return strict === undefined
        ? { line, column, message: `${given}: the last one counts`, severity: 'warning' }
        : { line, column, message: `${given}, which ${strict} refuses`, severity: 'error' };
    });
  if (provider !== 'azure' || anchor === undefined) return problems;
  const { line, column, name } = anchor;
  const message = `the anchor &${shorten(name)}: ${strict} takes no anchors`;
  return [{ line, column, message, severity: 'error' }, ...problems];
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
    problems: bounded(problems).map((one) => ({ ...one, message: shorten(one.message, MESSAGE_MAX) })),
  };
}

/**
 * It returns problems in the order of the file; where there are too many, errors are kept before warnings.
 */
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
  const pipeline = pipelineOf(reading, { dynamic: true, opaque: true, partial: true });
  return { provider: reading.provider, pipelines: [pipeline], problems: [] };
}

function looksLikeJenkins(text: string): boolean {
  // There is no `\s`, which takes line ends too, so that a file of empty lines would be gone through once for
  // each of them; nor spaces in two ways.
  return /^[ \t]*(?:pipeline|node(?:[ \t]*\([^)\n]*\))?)[ \t]*(?:\n[ \t]*)?\{|^[ \t]*@Library[ \t]*\(/m.test(
    text,
  );
}
