/** Connections are shown to callers and the ledger in this form, which holds no token. */
import { apiError } from '@svc/proto/http/errors.ts';
import { CiConnectionSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiConnection } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { shown } from '../../kit/resource/index.ts';
import type { Row } from '../../kit/resource/index.ts';
import { forgeOf } from '../providers/index.ts';
import type { Connection } from './rows.ts';

/** These notes stand beside a connection. */
export type Beside = Pick<Row<CiConnection>, 'notTaken' | 'nextSteps'>;

export function shownConnection(connection: Connection, beside: Beside = {}): CiConnection {
  return shown(CiConnectionSchema, connection, {
    ...beside,
    forge: forgeOf(connection) ?? null,
    hasToken: connection.token !== null,
    oidcPin: pinOf(connection),
  });
}

function pinOf(connection: Connection) {
  const { oidcIssuer, oidcRepositoryId, oidcOwnerId, oidcPinnedAt, oidcRepositoryPath } = connection;
  if (oidcIssuer === null || oidcRepositoryId === null || oidcPinnedAt === null) return null;
  return {
    issuer: oidcIssuer,
    repositoryId: oidcRepositoryId,
    ownerId: oidcOwnerId,
    pinnedAt: oidcPinnedAt,
    repositoryPath: oidcRepositoryPath ?? connection.repositoryPath,
  };
}

/** Entries of the ledger say this of a connection. */
export function detailsOf({ provider, repositoryKey }: Connection) {
  return { provider, repository: repositoryKey };
}

export function refusedField(field: string, rule: string, message: string): Error {
  return apiError('validation_failed', message, { details: { fields: [{ field, rule, message }] } });
}

/** Throws for a paused connection, which takes no reports. */
export function refuseWhenPaused({ id, status }: Pick<Connection, 'id' | 'status'>): void {
  if (status !== 'paused') return;
  throw apiError(
    'ci_connection_paused',
    'the CI connection is paused and takes no reports; set its status to active first',
    { details: { ciConnectionId: id, status } },
  );
}
