/** A repository's name has one spelling for showing, and one for comparing. */
import type { ForgeId } from './words.ts';

export interface RepositoryName {
  readonly host: string;
  /** Path without `.git` and without slashes at the ends. */
  readonly path: string;
  /** Forges compare hosts and paths without case: `github.com/acme/app`. */
  readonly key: string;
}

/** Forges that answer under this name too. */
const OTHER_NAME = /^www\.(?=(?:github\.com|gitlab\.com|bitbucket\.org)$)/;
/** `.` and `..`, as they are and as addresses may write them. */
const CLIMBS = /^(?:\.|%2e){1,2}$/i;

/** Undefined when nothing is left of the path, or it climbs. */
export function repositoryName(host: string, path: string): RepositoryName | undefined {
  const shownHost = host.toLowerCase().replace(/:443$/, '').replace(OTHER_NAME, '');
  const shownPath = path
    .replace(/\/{2,}/g, '/')
    .replace(/^\/|\/$/g, '')
    .replace(/\.git$/i, '')
    .replace(/\/$/, '');
  if (shownPath === '' || shownPath.split('/').some((part) => CLIMBS.test(part))) return undefined;
  return { host: shownHost, path: shownPath, key: `${shownHost}/${shownPath.toLowerCase()}` };
}

interface PathRule {
  readonly min: number;
  readonly max: number;
  readonly form: string;
}

/** Number of names in a repository's path at hosts of each kind. */
const PATHS: Readonly<Record<ForgeId, PathRule>> = {
  github: { min: 2, max: 2, form: 'owner/name' },
  bitbucket: { min: 2, max: 2, form: 'workspace/name' },
  gitlab: { min: 2, max: Infinity, form: 'group/name, with subgroups between them' },
  azure: { min: 2, max: 3, form: 'organisation/project/_git/name' },
};

/**
 * Returns the form that a path of this kind of host must have, when the path does not have it. A host of no
 * known kind takes any.
 */
export function wrongPath(forge: ForgeId | undefined, path: string): string | undefined {
  if (forge === undefined) return undefined;
  const { min, max, form } = PATHS[forge];
  // Azure's `_git` stands before a name and is none.
  const names = path.split('/').filter((part) => forge !== 'azure' || part !== '_git').length;
  return names < min || names > max ? form : undefined;
}

/**
 * Names a repository by its address in an environment: `https://user@github.com/acme/app.git`,
 * `git@github.com:acme/app.git`.
 */
export function repositoryOfUrl(url: string): RepositoryName | undefined {
  const scp = /^(?:[^@/\s]+@)?([^:/\s]+):(?!\/\/)(.+)$/.exec(url);
  if (scp !== null && !url.includes('://')) return repositoryName(scp[1] ?? '', scp[2] ?? '');
  if (!URL.canParse(url)) return undefined;
  const { host, pathname } = new URL(url);
  return host === '' ? undefined : repositoryName(host, pathname);
}

export const repositoryKeyOfUrl = (url: string): string | undefined => repositoryOfUrl(url)?.key;
