/**
 * Repositories that a token sees at its host, page by page. An answer may name a next page: its query alone
 * is taken, and only if the page is at the very host that was asked, so that the token goes nowhere else.
 */
import { listOrThrow } from '../host.ts';
import { text } from '../read.ts';
import type { ForgeId } from '../words.ts';
import { ForgeError, type ForgeAnswer, type ForgeApi, type ForgeRequest } from './call.ts';

/** Limit of the repositories that are read with one token. */
export const REPOSITORIES_MAX = 5_000;
/** The largest page of every host. */
export const PER_PAGE = 100;
/** Hosts may give smaller pages than they are asked for. */
const PAGES_MAX = 200;
/** A repository takes some 6 KB at the most talkative host. */
const PAGE_BYTES_MAX = 8 * 1_048_576;

export interface SeenRepository {
  /** As the host spells it: `owner/name`. */
  readonly path: string;
  readonly defaultBranch: string | undefined;
  readonly isPrivate: boolean | undefined;
  readonly isArchived: boolean | undefined;
  /** ISO 8601. */
  readonly pushedAt: string | undefined;
}

export interface SeenRepositories {
  readonly repositories: readonly SeenRepository[];
  /** It is false when there are more. */
  readonly isComplete: boolean;
}

/** `roots`: see rootOf(). Everything that the host refuses is thrown as a ForgeError. */
export type ListRepositories = (api: ForgeApi, roots: readonly string[]) => Promise<SeenRepositories>;

/**
 * Returns the part of a repository's path under which repositories are listed: the top-level owner, which is
 * the first name; at Azure organisation and project, each of which has a listing of its own.
 */
export function rootOf(forge: ForgeId, path: string): string {
  const names = path.split('/').filter((part) => forge !== 'azure' || part !== '_git');
  if (forge !== 'azure') return names[0] ?? '';
  return (names.length > 2 ? names.slice(0, -1) : names).join('/');
}

export function inRoots(forge: ForgeId, path: string, roots: readonly string[]): boolean {
  const root = rootOf(forge, path).toLowerCase();
  return roots.some((each) => each.toLowerCase() === root);
}

interface Paging {
  readonly request: Pick<ForgeRequest, 'path' | 'query'>;
  /** Finds the list in an answer. */
  readonly list: (answer: unknown) => unknown;
  /** Finds the address of the next page. */
  readonly next: (answer: ForgeAnswer) => string | undefined;
  readonly read: (entry: unknown) => SeenRepository | undefined;
}

/** Reads all pages, up to `max` repositories. Entries that are null or have no name are passed over. */
export async function readPages(
  api: ForgeApi,
  { request: { path, query = {} }, list, next, read }: Paging,
  max = REPOSITORIES_MAX,
): Promise<SeenRepositories> {
  const entries: unknown[] = [];
  const done = (isComplete: boolean): SeenRepositories => ({
    repositories: entries.slice(0, max).flatMap((entry) => read(entry) ?? []),
    isComplete: isComplete && entries.length <= max,
  });
  let asked: NonNullable<ForgeRequest['query']> = query;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await api.call({ path, query: asked, bytesMax: PAGE_BYTES_MAX });
    entries.push(...listOrThrow(list(answer.json()), `GET ${path}`, 'repositories'));
    const address = next(answer);
    if (address === undefined) return done(true);
    if (entries.length >= max) return done(false);
    const following = queryAt(api, path, address);
    // A host whose pages lead to themselves would be asked for ever.
    if (JSON.stringify(following) === JSON.stringify(asked)) return done(false);
    asked = following;
  }
  return done(false);
}

/** Reads one list after the other, up to the limit of all together. */
export async function readLists(
  api: ForgeApi,
  lists: readonly Paging[],
  max = REPOSITORIES_MAX,
): Promise<SeenRepositories> {
  const repositories: SeenRepository[] = [];
  for (const list of lists) {
    const left = max - repositories.length;
    if (left <= 0) return { repositories, isComplete: false };
    const seen = await readPages(api, list, left);
    repositories.push(...seen.repositories);
    if (!seen.isComplete) return { repositories, isComplete: false };
  }
  return { repositories, isComplete: true };
}

function queryAt({ url }: ForgeApi, path: string, address: string): Record<string, string> {
  const next = URL.canParse(address, url) ? new URL(address, url) : undefined;
  if (next === undefined || next.host !== new URL(url).host)
    throw new ForgeError(
      'answer_invalid',
      `GET ${path} was answered with a next page at ${next === undefined ? 'no address' : next.host}, which is another host and was not asked`,
    );
  return Object.fromEntries(next.searchParams);
}

/** Reads the address of `rel="next"` from the header `Link`. */
export function linkedNext({ headers: { link } }: ForgeAnswer): string | undefined {
  const links = typeof link === 'string' ? link : (link ?? []).join(',');
  for (const [, address, rest = ''] of links.matchAll(/<([^<>]*)>([^<]*)/g))
    if (/;\s*rel="?next"?/i.test(rest)) return text(address);
  return undefined;
}

export const flag = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);
