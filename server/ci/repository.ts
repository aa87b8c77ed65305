/** Names of repositories: one spelling for showing, one for comparing. */

export interface RepositoryName {
  readonly host: string;
  /** Without `.git` and without slashes at the ends. */
  readonly path: string;
  /** Forges compare hosts and paths without case: `github.com/acme/app`. */
  readonly key: string;
}

/** Undefined when nothing is left of the path, or it climbs. */
export function repositoryName(host: string, path: string): RepositoryName | undefined {
  const shownHost = host.toLowerCase();
  const shownPath = path
    .replace(/\/{2,}/g, '/')
    .replace(/^\/|\/$/g, '')
    .replace(/\.git$/i, '')
    .replace(/\/$/, '');
  if (shownPath === '' || shownPath.split('/').some((part) => part === '.' || part === '..'))
    return undefined;
  return { host: shownHost, path: shownPath, key: `${shownHost}/${shownPath.toLowerCase()}` };
}

/** Of an address as environments have it: `https://user@github.com/acme/app.git`, `git@github.com:acme/app.git`. */
export function repositoryKeyOfUrl(url: string): string | undefined {
  const scp = /^(?:[^@/\s]+@)?([^:/\s]+):(?!\/\/)(.+)$/.exec(url);
  if (scp !== null && !url.includes('://')) return repositoryName(scp[1] ?? '', scp[2] ?? '')?.key;
  if (!URL.canParse(url)) return undefined;
  const { host, pathname } = new URL(url);
  return host === '' ? undefined : repositoryName(host, pathname)?.key;
}
