/** Tokens of repositories' hosts as they are stored: sealed with the row that they are for. */
import type { Secrets } from '../../../base/secrets.ts';
import type { HostedRepository } from './forge.ts';

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
