/** Files of a commit to what they define. Those that the last search read under the same content's name are not read again. */
import { ForgeError } from '../forges/call.ts';
import { clip, text } from '../providers/read.ts';
import type { Tree, TreeEntry } from '../providers/tree.ts';
import { isDefinition, parseDefinition, providerOfPath, READERS_VERSION, TEXT_MAX } from './definitions.ts';
import type { CiDefinitionProvider, DefinedPipeline, ParsedDefinition } from './definitions.ts';
import type { FoundPipeline, FoundProblem, ReadFile, ReadResult } from './snapshot.ts';
import type { Wanted } from './listing.ts';

/** Files of one search; a repository with more has a generator. */
const FILES_MAX = 200;
const AT_ONCE = 5;
/** What one file may say: of names as much as the contract of runs takes, of lists what a person reads. */
const NAME_MAX = 255;
const PIPELINES_MAX = 100;
const JOBS_MAX = 500;
const TRIGGERS_MAX = 50;
const INCLUDES_MAX = 50;
const EVIDENCE_MAX = 10;
const PROBLEMS_MAX = 20;
const MESSAGE_MAX = 500;

/** Of all results together, as JSON: what one answer of the API may weigh. */
const RESULTS_CHARS_MAX = 2_000_000;

export interface FilesRead {
  /** By path. */
  readonly files: readonly ReadFile[];
  /** Why something may be missing; sentences. */
  readonly reasons: readonly string[];
}

export async function readFiles(
  tree: Tree,
  commit: string,
  wanted: Wanted & { readonly files: readonly TreeEntry[]; readonly known: readonly ReadFile[] },
): Promise<FilesRead> {
  const known = new Map(wanted.known.map((file) => [`${file.path}\n${file.key}`, file]));
  const ordered = [...wanted.files].sort(
    (a, b) => rank(a, wanted) - rank(b, wanted) || (a.path < b.path ? -1 : 1),
  );
  const read = await eachOf(ordered.slice(0, FILES_MAX), async (entry): Promise<ReadFile> => {
    const { path } = entry;
    const provider = path === wanted.ciFile ? 'gitlab' : providerOfPath(path);
    const key = `${READERS_VERSION}:${provider ?? ''}:${entry.id ?? commit}`;
    return known.get(`${path}\n${key}`) ?? { path, key, ...(await readFile(tree, commit, entry, provider)) };
  });
  const files: ReadFile[] = [];
  const reasons: string[] = [];
  let chars = 0;
  for (const file of read) {
    chars += JSON.stringify(file).length;
    if (chars <= RESULTS_CHARS_MAX) files.push(file);
    else reasons.push(`what ${file.path} defines was not kept: all definitions together are too much`);
  }
  const left = ordered.length - FILES_MAX;
  if (left > 0) reasons.push(`${left} files were not read: ${FILES_MAX} are the limit`);
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), reasons };
}

/** A few at a time, in order; after the first failure nothing more is begun. */
async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = [...items.entries()];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, item] = next;
      try {
        results[index] = await work(item);
      } catch (error) {
        queue.length = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

/** The connection's own first, and last what only its content may show to be a definition. */
function rank({ path }: TreeEntry, { own, ciFile }: Wanted): number {
  const provider = path === ciFile ? 'gitlab' : providerOfPath(path);
  if (provider === undefined) return 2;
  return own.includes(provider) ? 0 : 1;
}

async function readFile(
  tree: Tree,
  commit: string,
  entry: TreeEntry,
  provider: CiDefinitionProvider | undefined,
): Promise<ReadResult> {
  const { path } = entry;
  const tooLarge = `more than ${TEXT_MAX} bytes, which is the limit`;
  if (entry.sizeBytes !== undefined && entry.sizeBytes > TEXT_MAX)
    return unread(provider, path, `${entry.sizeBytes} bytes, the limit is ${TEXT_MAX}`);
  let bytes;
  try {
    bytes = await tree.read(commit, entry, TEXT_MAX);
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    if (error.problem === 'answer_invalid') return unread(provider, path, tooLarge);
    if (error.problem === 'not_found')
      return unread(provider, path, 'listed by the host and not found there');
    throw error;
  }
  if (bytes.includes(0)) return unread(provider, path, 'not a text: it holds a byte 0');
  const content = new TextDecoder().decode(bytes);
  if (!isDefinition({ path, text: content, ...(provider && { provider }) }))
    return { pipelines: [], problems: [] };
  // Any YAML file of the root may be one of Azure Pipelines.
  return resultOf(path, parseDefinition({ path, text: content, provider: provider ?? 'azure' }));
}

/** What is of no CI system by its name is nobody's loss. */
function unread(provider: CiDefinitionProvider | undefined, path: string, message: string): ReadResult {
  return { pipelines: [], problems: provider === undefined ? [] : [{ path, line: 0, message, fatal: true }] };
}

function resultOf(path: string, { pipelines, problems }: ParsedDefinition): ReadResult {
  const named = new Map(pipelines.map((pipeline) => [shown(pipeline.name, NAME_MAX), pipeline]));
  const notes = [
    ...(named.size < pipelines.length
      ? ['several pipelines of one name, of which the last one is kept']
      : []),
    ...cutOf(named.size, PIPELINES_MAX, 'pipelines'),
    ...cutOf(problems.length, PROBLEMS_MAX, 'problems'),
    ...pipelines.flatMap(({ jobs }) => cutOf(jobs.length, JOBS_MAX, 'jobs')).slice(0, 1),
  ];
  return {
    pipelines: [...named].slice(0, PIPELINES_MAX).map(([name, pipeline]) => foundOf(name, pipeline)),
    problems: [
      ...problems.slice(0, PROBLEMS_MAX).map(({ line, message, severity }) => ({
        path,
        line,
        message: shown(message, MESSAGE_MAX),
        fatal: severity === 'error',
      })),
      ...notes.map((message): FoundProblem => ({ path, line: 0, message, fatal: false })),
    ],
  };
}

function cutOf(count: number, max: number, what: string): readonly string[] {
  return count > max ? [`${count} ${what}, of which the first ${max} are kept`] : [];
}

/** A file may hold what no database stores: `"\0"`, halves of a pair. */
function shown(value: string, max: number): string {
  return clip(text(value) ?? '', max);
}

function foundOf(name: string, pipeline: DefinedPipeline): FoundPipeline {
  const { provider, path, deployDetected, partial = false, includes = [] } = pipeline;
  const names = (all: readonly string[], max: number) => all.slice(0, max).map((one) => shown(one, NAME_MAX));
  const jobs = pipeline.jobs.map((job) => job.name);
  return {
    provider,
    path,
    name: name === '' ? path : name,
    jobs: names(jobs, JOBS_MAX),
    triggers: names(pipeline.triggers, TRIGGERS_MAX),
    deployDetected,
    evidence: pipeline.evidence.slice(0, EVIDENCE_MAX).map(({ line, text: written, why }) => ({
      line,
      text: shown(written, NAME_MAX),
      why: shown(why, NAME_MAX),
    })),
    partial,
    includes: names(includes, INCLUDES_MAX),
  };
}
