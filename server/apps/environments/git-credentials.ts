/**
 * Credentials read a repository. They are encrypted as one text that is bound to its environment, opened only
 * for the offer of a build, and shown to nobody.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { GitCredentials as Message } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { environments } from './schema.ts';

type Environment = typeof environments.$inferSelect;

export interface GitCredentials {
  readonly username?: string;
  readonly token?: string;
  readonly sshKey?: string;
  readonly knownHosts?: string;
}

/** As the runner reads it. */
const SCP_LIKE = /^[A-Za-z0-9._-]+@([A-Za-z0-9.-]+):(?!\/\/)/;

/**
 * Returns scheme, host and port of a repository's address. It is undefined where the address has none, and
 * then no runner takes it.
 */
export function gitHost(repository: string): string | undefined {
  const scp = SCP_LIKE.exec(repository)?.[1];
  if (scp !== undefined) return `ssh://${scp.toLowerCase()}`;
  const url = URL.canParse(repository) ? new URL(repository) : undefined;
  if (url === undefined || url.host === '') return undefined;
  // The URL drops the default port of http and https alone.
  const host = url.protocol === 'ssh:' ? url.host.replace(/:22$/, '') : url.host;
  return `${url.protocol}//${host.toLowerCase()}`;
}

/**
 * Returns scheme, host and path, since user names, passwords and queries are where people put tokens. It is
 * empty when the address cannot be read.
 */
export function plainAddress(repository: string): string {
  const host = gitHost(repository);
  if (host === undefined) return '';
  const scp = SCP_LIKE.exec(repository)?.[0];
  const path = scp === undefined ? new URL(repository).pathname : `/${repository.slice(scp.length)}`;
  return `${host}${path.replace(/[?#].*$/, '')}`;
}

/**
 * Whoever may name another repository was not thereby given the credentials: they go to the host that they
 * were given for.
 */
export function refuseOtherHost(
  before: Pick<Environment, 'repository' | 'hasGitCredentials'>,
  repository: string,
): void {
  if (!before.hasGitCredentials || before.repository === repository) return;
  const [from, to] = [before.repository, repository].map((text) =>
    text === null ? undefined : gitHost(text),
  );
  if (from !== undefined && from === to) return;
  const message =
    `the git credentials were given for ${from ?? 'no host yet'} and do not go to ${to ?? 'another address'}: ` +
    'send gitCredentials for the new host in the same request, or an empty gitCredentials object to clear them';
  throw wrongField(message, { field: 'gitCredentials', rule: 'host' });
}

const sealedAt = (environmentId: string): string => `environments.git_sealed:${environmentId}`;

/** Returns undefined when none are to be held. */
export function gitCredentials(message: Message): GitCredentials | undefined {
  const { username, token, sshKey, knownHosts } = message;
  if (token === undefined && sshKey === undefined) {
    if (username === undefined && knownHosts === undefined) return undefined;
    const text = 'git credentials hold neither a token nor an SSH key, at least one of them is needed';
    throw wrongField(text, { field: 'gitCredentials', rule: 'required' });
  }
  return {
    ...(token === undefined ? {} : { username: username ?? 'git', token }),
    ...(sshKey === undefined ? {} : { sshKey }),
    ...(knownHosts === undefined ? {} : { knownHosts }),
  };
}

/** Returns null when none are held. */
export function sealGitCredentials(
  secrets: Pick<Secrets, 'seal'>,
  environmentId: string,
  credentials: GitCredentials | undefined,
): string | null {
  if (credentials === undefined) return null;
  return secrets.seal(sealedAt(environmentId), Buffer.from(JSON.stringify(credentials)));
}

/** Opens them for the offer of a build alone, which reads that very repository. */
export async function openGitCredentials(
  { sql }: Pick<Database, 'sql'>,
  secrets: Pick<Secrets, 'open'>,
  { id, teamId, repository }: Pick<Environment, 'id' | 'teamId' | 'repository'>,
): Promise<GitCredentials> {
  const [row] = await sql<Array<{ sealed: string | null; repository: string | null }>>`
    select git_sealed as sealed, repository from environments where id = ${id} and team_id = ${teamId}`;
  if (row?.sealed === null || row === undefined) return {};
  if (row.repository !== repository) {
    throw apiError(
      'state_conflict',
      'the repository of the environment was changed at this moment; try again',
      {
        retryable: true,
      },
    );
  }
  return JSON.parse(Buffer.from(secrets.open(sealedAt(id), row.sealed)).toString('utf8')) as GitCredentials;
}
