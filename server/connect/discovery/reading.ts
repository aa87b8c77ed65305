/**
 * Reads the files of a commit. Those that the last search read under the same content's name are not read
 * again.
 */
import {
  BYTES_MAX,
  ForgeError,
  providerOfPath,
  READERS_VERSION,
  RESULTS_CHARS_MAX,
  tooManyBytes,
  type CiDefinitionProvider,
  type Measured,
  type ReadFile,
  type Reading,
  type ReadResult,
  type Tree,
  type TreeEntry,
} from '../providers/index.ts';
import type { WantedFiles } from './listing.ts';

/** Files of one search; a repository with more has a generator. */
const FILES_MAX = 200;
const AT_ONCE = 5;

export interface FilesRead {
  /** Results by path. */
  readonly files: readonly ReadFile[];
  /** Why something may be missing; sentences. */
  readonly reasons: readonly string[];
}

export async function readFiles(
  tree: Tree,
  commit: string,
  wanted: WantedFiles & {
    readonly files: readonly TreeEntry[];
    readonly known: readonly ReadFile[];
    readonly reading: Reading;
  },
): Promise<FilesRead> {
  const known = new Map(wanted.known.map((file) => [`${file.path}\n${file.key}`, file]));
  const ordered = [...wanted.files].sort(
    (a, b) => rank(a, wanted) - rank(b, wanted) || (a.path < b.path ? -1 : 1),
  );
  const read = await eachOf(ordered.slice(0, FILES_MAX), async (entry): Promise<Kept> => {
    const { path } = entry;
    const provider = path === wanted.ciFile ? 'gitlab' : providerOfPath(path);
    const key = `${READERS_VERSION}:${provider ?? ''}:${entry.id ?? commit}`;
    const before = known.get(`${path}\n${key}`);
    if (before !== undefined) return { ...before, chars: JSON.stringify(before).length };
    const { result, chars, isPassing } = await readFile(
      { tree, commit, reading: wanted.reading },
      entry,
      provider,
    );
    // A failure that may pass is not kept as the result of the file.
    return { path, key: isPassing === true ? '' : key, ...result, chars };
  });
  const files: ReadFile[] = [];
  const reasons: string[] = [];
  let total = 0;
  for (const { chars, ...file } of read) {
    total += chars;
    if (total <= RESULTS_CHARS_MAX) files.push(file);
    else reasons.push(`what ${file.path} defines was not kept: all definitions together are too much`);
  }
  const left = ordered.length - FILES_MAX;
  if (left > 0) reasons.push(`${left} files were not read: ${FILES_MAX} are the limit`);
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), reasons };
}

interface Kept extends ReadFile {
  /** Length of the result as JSON. */
  readonly chars: number;
}

/** It runs `work` for a few items at a time, in order; after the first failure nothing more is begun. */
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

/**
 * Orders the files: those of the connection's own systems first, and last those that only their content may
 * show to be a definition.
 */
function rank({ path }: TreeEntry, { own, ciFile }: WantedFiles): number {
  const provider = path === ciFile ? 'gitlab' : providerOfPath(path);
  if (provider === undefined) return 2;
  return own.includes(provider) ? 0 : 1;
}

interface Source {
  readonly tree: Tree;
  readonly commit: string;
  readonly reading: Reading;
}

async function readFile(
  { tree, commit, reading }: Source,
  entry: TreeEntry,
  provider: CiDefinitionProvider | undefined,
): Promise<Measured & { readonly isPassing?: boolean }> {
  const { path } = entry;
  if (entry.sizeBytes !== undefined && entry.sizeBytes > BYTES_MAX)
    return unread(provider, path, tooManyBytes(entry.sizeBytes));
  let bytes;
  try {
    bytes = await tree.read(commit, entry, BYTES_MAX);
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    if (error.problem === 'answer_invalid') return unread(provider, path, tooManyBytes());
    if (error.problem === 'not_found')
      return unread(provider, path, 'listed by the host and not found there');
    throw error;
  }
  const outcome = await reading.read({ path, text: bytes, ...(provider && { provider }) });
  if ('result' in outcome) return outcome;
  return { ...unread(provider, path, outcome.failed), isPassing: true };
}

/** A file that belongs to no CI system by its name is left out without a message. */
function unread(provider: CiDefinitionProvider | undefined, path: string, message: string): Measured {
  const result: ReadResult = {
    pipelines: [],
    problems: provider === undefined ? [] : [{ path, line: 0, message, fatal: true }],
  };
  return { result, chars: JSON.stringify(result).length };
}
