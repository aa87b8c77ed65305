/** Connections are shown to callers and the ledger in this form, which holds no token. */
import { apiError } from '@svc/proto/http/errors.ts';
import {
  CiConnectionSchema,
  type CiConnection,
  type CreateConnectionRequest,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { shown, type Row } from '../../kit/resource/index.ts';
import { forgeOf } from '../providers/index.ts';
import type { Connection, NewConnection } from './rows.ts';
import { takesWebhooks } from './webhook/store.ts';

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

/** Throws for a paused connection, which takes no reports. */
export function refuseWhenPaused({ id, status }: Pick<Connection, 'id' | 'status'>): void {
  if (status !== 'paused') return;
  throw apiError(
    'ci_connection_paused',
    'the CI connection is paused and takes no reports; set its status to active first',
    { details: { ciConnectionId: id, status } },
  );
}

// The answer about a new connection names fields of the request that were not taken, and what is missing for
// runs to be seen.

/** Fields by their names in the contract and in the CLI. */
const FIELDS = [
  ['projectId', '--project'],
  ['defaultBranch', '--default-branch'],
  ['ingestMode', '--ingest-mode'],
] as const;

/** Names the fields that were not taken, because the repository was connected already. */
export function notTaken(
  connection: Connection,
  wanted: NewConnection,
  request: Pick<CreateConnectionRequest, (typeof FIELDS)[number][0]>,
) {
  return FIELDS.filter(([field]) => request[field] !== undefined && wanted[field] !== connection[field]).map(
    ([field, flag]) => {
      const [kept, value] = [connection[field], wanted[field] ?? ''];
      // A project is set once.
      const isFixed = field === 'projectId' && kept !== null;
      return {
        field,
        given: value,
        kept,
        ...(isFixed ? {} : { command: `svc ci connections update ${connection.id} ${flag} ${value}` }),
      };
    },
  );
}

/** Returns what to do next; `hasSecret` says that the webhook of the connection has a secret. */
export function nextSteps(connection: Connection, hasSecret: boolean): readonly string[] {
  const { id, projectId } = connection;
  const update = `svc ci connections update ${id}`;
  const steps: string[] = [];
  if (projectId === null)
    steps.push(
      `it has no project: a run stands in the timeline of an environment only if its report names one (--env); to set a project, once: ${update} --project <project_id>`,
    );
  if (takesWebhooks(connection) && hasSecret)
    steps.push(
      `its webhook has a secret: svc ci webhook show ${id} tells where to enter it; one that is lost is made anew, and replaced, by svc ci webhook rotate-secret ${id}`,
    );
  else if (takesWebhooks(connection))
    steps.push(
      `to make its webhook's secret, which is shown once: svc ci webhook rotate-secret ${id}; where to enter it: svc ci webhook show ${id}`,
    );
  else
    steps.push(
      `it takes reports of CI jobs alone: svc ci report --connection ${id}; to take webhooks as well: ${update} --ingest-mode both, and then, for their secret: svc ci webhook rotate-secret ${id}`,
    );
  return steps;
}
