/**
 * An adapter of a repository's host reads the repository for discovery (one commit, folder by folder, files
 * by the name of their content), keeps the webhook that this service has there, posts statuses of commits,
 * and is asked for runs.
 */
import { ForgeError, type ForgeApi } from './forges/call.ts';
import { idOf, shaOf } from './read.ts';
import type { Scheme } from './words.ts';
import type { RunName } from './event.ts';
import type { Reported } from './types.ts';
import { createHash } from 'node:crypto';

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
export async function unlessMissing<T>(
  asked: Promise<T>,
  fallback: (error: ForgeError) => Promise<T>,
): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ForgeError && error.problem === 'not_found') return await fallback(error);
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

/** Returns a list that the host must have answered; anything else is no empty one. */
export function listOrThrow(value: unknown, call: string, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ForgeError('answer_invalid', `${call} was answered without a list of ${what}`);
}

export const entriesOf = (value: unknown, call: string) => listOrThrow(value, call, 'entries');

export function commitOf(value: unknown, what: string): string {
  const sha = shaOf(value);
  if (sha === undefined) throw new ForgeError('answer_invalid', `${what} was answered without a commit`);
  return sha;
}

export interface WantedHook {
  readonly url: string;
  readonly secret: string;
  readonly scheme: Scheme;
  /** The host's id of the one that was made before; null: none that is known. */
  readonly knownId: string | null;
}

/** Everything that the host refuses is thrown as a ForgeError. */
export interface Hooks {
  /** The right that the token must have, as the host calls it. */
  readonly needs: string;
  /**
   * Makes it, or repairs the one that is there: secret, events, and being switched on. Answers the host's id
   * of it.
   */
  put(api: ForgeApi, wanted: WantedHook): Promise<unknown>;
  remove(api: ForgeApi, id: string): Promise<void>;
}

export async function removeHook(api: ForgeApi, id: string): Promise<void> {
  await api.call({ method: 'DELETE', path: `${api.repositoryBase}/hooks/${encodeURIComponent(id)}` });
}

interface Fields {
  readonly id: (hook: unknown) => unknown;
  readonly url: (hook: unknown) => unknown;
}

/**
 * Finds our webhook by the address that nobody else has, or by its id when the address of this service has
 * changed.
 */
export function found(
  all: readonly unknown[],
  { url, knownId }: WantedHook,
  fields: Fields,
): { readonly id: string; readonly hook: unknown } | undefined {
  const named = all.flatMap((hook) => {
    const id = idOf(fields.id(hook));
    return id === undefined ? [] : [{ id, hook }];
  });
  return (
    named.find(({ hook }) => fields.url(hook) === url) ??
    named.find(({ id, hook }) => id === knownId && isOurs(fields.url(hook), url))
  );
}

/** An id alone proves nothing: another repository may have taken the path. */
function isOurs(theirs: unknown, ours: string): boolean {
  const tail = (url: string) => url.slice(url.indexOf('/ci/webhooks/'));
  return typeof theirs === 'string' && theirs.includes('/ci/webhooks/') && tail(theirs) === tail(ours);
}

/**
 * Asks a provider for the status of a run. Everything but an answer is thrown as a ForgeError. The id is one
 * that ASKABLE_ID takes.
 */
export type AskRun = (api: ForgeApi, run: RunName) => Promise<Reported>;

export type CommitState = 'pending' | 'success' | 'failure' | 'error' | 'cancelled';

export interface CommitStatus {
  readonly sha: string;
  /** `svc/<pipeline>`: our own statuses are recognised by it when they come back as webhooks. */
  readonly context: string;
  readonly state: CommitState;
  readonly description: string;
  readonly targetUrl: string | undefined;
  readonly branch: string | undefined;
  readonly tag: string | undefined;
  /** The run at the repository's host, when the host itself runs it. */
  readonly ownRunId: string | undefined;
}

/** Everything but 2xx is thrown as a ForgeError. */
export type PostStatus = (api: ForgeApi, status: CommitStatus) => Promise<void>;

export function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
