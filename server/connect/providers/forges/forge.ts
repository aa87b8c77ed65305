/**
 * This file knows the host of a connection's repository, and the address of its API. CI systems that keep no
 * repositories leave it to the host's name.
 */
import type { CiProvider, ForgeId } from '../words.ts';
import type { Secrets } from '../../../base/secrets.ts';

/** Hosts that are known by their name. */
export const KNOWN_HOSTS: Readonly<Record<string, ForgeId>> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'bitbucket.org': 'bitbucket',
  'dev.azure.com': 'azure',
};

/** Jobs of repositories at these hosts have id_tokens that are taken. */
export const HOSTS = { github: 'github.com', gitlab: 'gitlab.com' } as const;

const PROVIDERS: Readonly<Partial<Record<CiProvider, ForgeId>>> = {
  github: 'github',
  gitlab: 'gitlab',
  bitbucket: 'bitbucket',
};

interface Place {
  readonly provider: CiProvider;
  readonly repositoryHost: string;
  /** Set where neither host nor provider decides it. */
  readonly forge: ForgeId | null;
}

/** It is a connection's repository, with what is needed to call its host. */
export interface HostedRepository extends Place {
  /** The id is that of the connection. */
  readonly id: string;
  readonly repositoryPath: string;
  readonly apiUrl: string | null;
  /** It is sealed. */
  readonly token: string | null;
}

/**
 * The kind of host that was set, else that of a well-known host, else that of the provider's own
 * repositories. Undefined: it is not known.
 */
export function forgeOf({ provider, repositoryHost, forge }: Place): ForgeId | undefined {
  return forge ?? KNOWN_HOSTS[repositoryHost] ?? PROVIDERS[provider];
}

/** Base address of the API, without a slash at its end. */
export function apiUrlOf(
  { repositoryHost, apiUrl }: Pick<HostedRepository, 'repositoryHost' | 'apiUrl'>,
  forge: ForgeId,
): string {
  if (apiUrl !== null) return apiUrl.replace(/\/+$/, '');
  switch (forge) {
    case 'github':
      return repositoryHost === 'github.com' ? 'https://api.github.com' : `https://${repositoryHost}/api/v3`;
    case 'gitlab':
      return `https://${repositoryHost}/api/v4`;
    case 'bitbucket':
      return repositoryHost === 'bitbucket.org'
        ? 'https://api.bitbucket.org/2.0'
        : `https://${repositoryHost}/2.0`;
    case 'azure':
      return `https://${repositoryHost}`;
  }
}

/** Encodes `group/sub name` as a path of addresses. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/**
 * Builds the address of the repository below the API's base: its hooks, runs and commit statuses are there.
 */
export function repositoryBase(forge: ForgeId, path: string): string {
  switch (forge) {
    case 'github':
      return `/repos/${encodePath(path)}`;
    case 'gitlab':
      return `/projects/${encodeURIComponent(path)}`;
    case 'bitbucket':
      return `/repositories/${encodePath(path)}`;
    case 'azure': {
      // `organisation/project/_git/repository`, or without the middle where both have one name.
      const parts = path.split('/').filter((part) => part !== '_git');
      const repository = parts.at(-1) ?? '';
      const project = parts.length > 2 ? parts.slice(0, -1).join('/') : parts.join('/');
      return `/${encodePath(project)}/_apis/git/repositories/${encodeURIComponent(repository)}`;
    }
  }
}

const place = (connectionId: string): string => `ci_connections.token:${connectionId}`;

export function sealToken(secrets: Pick<Secrets, 'seal'>, connectionId: string, token: string): string {
  return secrets.seal(place(connectionId), Buffer.from(token));
}

export function openToken(
  secrets: Pick<Secrets, 'open'>,
  { id, token }: Pick<HostedRepository, 'id' | 'token'>,
): string | undefined {
  return token === null ? undefined : Buffer.from(secrets.open(place(id), token)).toString();
}
