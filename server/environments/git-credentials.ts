/**
 * What a repository is read with: encrypted as one text that is bound to its environment, opened only for the offer of a build, and shown to nobody.
 */
import type { GitCredentials as Message } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Database } from '../platform/db/index.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Environment } from './store.ts';

export interface GitCredentials {
  readonly username?: string;
  readonly token?: string;
  readonly sshKey?: string;
  readonly knownHosts?: string;
}

const sealedAt = (environmentId: string): string => `environments.git_sealed:${environmentId}`;

/** Undefined: none are to be held. */
export function gitCredentials(message: Message): GitCredentials | undefined {
  const { username, token, sshKey, knownHosts } = message;
  if (token === undefined && sshKey === undefined) {
    if (username === undefined && knownHosts === undefined) return undefined;
    const text = 'git credentials hold neither a token nor an SSH key, at least one of them is needed';
    throw apiError('validation_failed', text, {
      details: { fields: [{ field: 'gitCredentials', rule: 'required', message: text }] },
    });
  }
  return {
    ...(token === undefined ? {} : { username: username ?? 'git', token }),
    ...(sshKey === undefined ? {} : { sshKey }),
    ...(knownHosts === undefined ? {} : { knownHosts }),
  };
}

export async function storeGitCredentials(
  { sql }: Database,
  secrets: Pick<Secrets, 'seal'>,
  { id, teamId }: Environment,
  credentials: GitCredentials | undefined,
): Promise<void> {
  const sealed =
    credentials === undefined ? null : secrets.seal(sealedAt(id), Buffer.from(JSON.stringify(credentials)));
  await sql`update environments set git_sealed = ${sealed} where id = ${id} and team_id = ${teamId}`;
}

/** For the offer of a build alone. */
export async function openGitCredentials(
  { sql }: Pick<Database, 'sql'>,
  secrets: Pick<Secrets, 'open'>,
  { id, teamId }: Pick<Environment, 'id' | 'teamId'>,
): Promise<GitCredentials> {
  const [row] = await sql<Array<{ sealed: string | null }>>`
    select git_sealed as sealed from environments where id = ${id} and team_id = ${teamId}`;
  if (row?.sealed === null || row === undefined) return {};
  return JSON.parse(Buffer.from(secrets.open(sealedAt(id), row.sealed)).toString('utf8')) as GitCredentials;
}
