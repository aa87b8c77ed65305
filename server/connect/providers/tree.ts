/**
 * A repository at its host, as discovery reads it: one commit, folder by folder, files by the name of their
 * content.
 */
import { ForgeError } from './forges/call.ts';
import { shaOf } from './read.ts';

export interface TreeEntry {
  /** Path from the root, with `/`. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'module';
  /** Git's name of the content. Undefined where the host has none: the commit and the path stand for it. */
  readonly id: string | undefined;
  /** Undefined where the host does not have it before the file is read. */
  readonly sizeBytes: number | undefined;
}

export interface Listing {
  readonly entries: readonly TreeEntry[];
  /** It is false when there are more. */
  readonly complete: boolean;
}

export interface Head {
  /** It is undefined when the repository is there and has no such branch. */
  readonly commit: string | undefined;
  /** The default branch, where the host names it. */
  readonly defaultBranch?: string | undefined;
  /** A setting of the repository that names its CI file; GitLab alone. */
  readonly ciFile?: string | undefined;
}

/**
 * Everything is thrown as a ForgeError; `not_found` means the repository for `head`, and the thing itself for
 * the others.
 */
export interface Tree {
  head(branch: string): Promise<Head>;
  /**
   * Lists what lies directly in a folder; undefined: in the root. Asks for further pages until `entriesMax`
   * are there.
   */
  list(commit: string, folder: TreeEntry | undefined, entriesMax: number): Promise<Listing>;
  /** `answer_invalid` when the file has more bytes. */
  read(commit: string, file: TreeEntry, bytesMax: number): Promise<Uint8Array>;
}

/** Gives `fallback` in place of a 404. */
export async function unlessMissing<T>(asked: Promise<T>, fallback: () => Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ForgeError && error.problem === 'not_found') return await fallback();
    throw error;
  }
}

/**
 * Pages of a folder, joined. `page` answers what is on one, and the next page's mark unless it was the last
 * one.
 */
export async function joinPages(
  entriesMax: number,
  page: (
    mark: string | undefined,
  ) => Promise<{ readonly entries: readonly TreeEntry[]; readonly next?: string | undefined }>,
): Promise<Listing> {
  const entries: TreeEntry[] = [];
  let mark: string | undefined;
  do {
    const { entries: found, next } = await page(mark);
    // A host whose pages never end would be asked for ever.
    if (next !== undefined && (found.length === 0 || next === mark)) return { entries, complete: false };
    entries.push(...found);
    mark = next;
  } while (mark !== undefined && entries.length < entriesMax);
  return { entries, complete: mark === undefined };
}

/** Reads modes of Git: 040000 is a folder, 120000 a symbolic link, 160000 a submodule. */
export function kindOfMode(mode: string | undefined, type: string | undefined): TreeEntry['kind'] {
  if (mode === '120000') return 'link';
  if (mode === '160000' || type === 'commit') return 'module';
  return type === 'tree' ? 'folder' : 'file';
}

/** A list that the host must have answered; anything else is no empty folder. */
export function entriesOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ForgeError('answer_invalid', `${what} was answered without a list of entries`);
}

export function commitOf(value: unknown, what: string): string {
  const sha = shaOf(value);
  if (sha === undefined) throw new ForgeError('answer_invalid', `${what} was answered without a commit`);
  return sha;
}
