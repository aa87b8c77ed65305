/**
 * The repository whose id_tokens a connection takes. The first one pins the repository by its ids, if the
 * name that the connection was made with is the repository's at that moment; from then on the ids alone
 * decide. So a renamed repository goes on, and a name that somebody else took over, or a repository that went
 * to another owner, ends here until an admin takes the pin back. A repository is the pin of one connection of
 * all teams.
 */
import { isNull } from 'drizzle-orm';
import { recordAct, type ActCtx } from '../../kit/ledger/index.ts';
import type { CiJob } from '../../kit/context.ts';
import { isUniqueViolation } from '../../base/db/errors.ts';
import type { Database } from '../../base/db/index.ts';
import {
  connectionOfPin,
  connectionRows,
  detailsOf,
  lockConnection,
  noteConnection,
  type Connection,
} from '../connections/index.ts';
import { HOSTS, repositoryName } from '../providers/index.ts';
import { refusedJob } from './claims.ts';
import type { CiJobCaller } from './caller.ts';

type JobCtx = ActCtx & { readonly caller: CiJobCaller };

/** A job that showed the id_token itself may pin the repository. */
export async function checkRepository(db: Database, ctx: JobCtx, connection: Connection): Promise<void> {
  const { ciJob: job, idToken } = ctx.caller;
  const mayPin = idToken !== undefined;
  if (connection.provider !== job.provider)
    throw refusedJob(
      job,
      `the connection's provider is ${connection.provider}, the issuer speaks for ${job.provider}`,
      'iss',
    );
  const known =
    connection.oidcIssuer === null && mayPin
      ? ((await lockConnection(db, connection.id)) ?? connection)
      : connection;
  if (known.oidcIssuer !== null) {
    checkPin(known, job);
    if (known.oidcRepositoryPath !== job.repositoryPath) await rename(db, ctx, known);
  } else if (mayPin) await pin(db, ctx, known);
  else throw refusedJob(job, 'the pin of the connection was taken back after the id_token was exchanged');
}

function checkPin({ oidcIssuer, oidcRepositoryId, oidcOwnerId }: Connection, job: CiJob): void {
  const isGitHub = job.provider === 'github';
  const demand = (claim: string, pinned: string | null, value: string): void => {
    if (pinned === value) return;
    throw refusedJob(
      job,
      `the connection is pinned to the ${claim} ${pinned}; after the repository was moved or made again an admin takes the pin back (svc ci connections reset-oidc-pin)`,
      claim,
    );
  };
  demand('iss', oidcIssuer, job.issuer);
  demand(isGitHub ? 'repository_id' : 'project_id', oidcRepositoryId, job.repositoryId);
  demand(isGitHub ? 'repository_owner_id' : 'namespace_id', oidcOwnerId, job.ownerId);
}

async function pin(db: Database, ctx: JobCtx, connection: Connection): Promise<void> {
  const { ciJob: job } = ctx.caller;
  const claim = job.provider === 'github' ? 'repository' : 'project_path';
  const refuse = (what: string): Error => refusedJob(job, what, claim);
  const takenElsewhere = (): Error =>
    refuse(
      'the repository reports to another connection already, and to one at a time; delete that one, or take its pin back',
    );
  if (repositoryName(HOSTS[job.provider], job.repositoryPath)?.key !== connection.repositoryKey)
    throw refuse(`the connection is of ${connection.repositoryHost}/${connection.repositoryPath}`);
  if ((await connectionOfPin(db, job)) !== undefined) throw takenElsewhere();
  try {
    const set = {
      oidcIssuer: job.issuer,
      oidcRepositoryId: job.repositoryId,
      oidcOwnerId: job.ownerId,
      oidcRepositoryPath: job.repositoryPath,
      oidcPinnedAt: ctx.clock.now(),
    };
    await noteConnection(db, connection, { set, where: isNull(connectionRows.table.oidcIssuer) });
  } catch (error) {
    if (isUniqueViolation(error, 'ci_connections_oidc')) throw takenElsewhere();
    throw error;
  }
  await record(db, ctx, { connection, action: 'ci_connection.oidc_pinned', details: pinOf(job) });
}

async function rename(db: Database, ctx: JobCtx, connection: Connection): Promise<void> {
  const { ciJob: job } = ctx.caller;
  await noteConnection(db, connection, { set: { oidcRepositoryPath: job.repositoryPath } });
  const details = { ...pinOf(job), before: connection.oidcRepositoryPath };
  await record(db, ctx, { connection, action: 'ci_connection.oidc_renamed', details });
}

/** A job has no team before it is bound, so that its acts are none of `change()`. */
async function record(
  db: Database,
  ctx: JobCtx,
  { connection, action, details }: { connection: Connection; action: string; details: object },
): Promise<void> {
  const { id: target, teamId: chain } = connection;
  await recordAct(db, ctx, { chain, action, target, details: { ...detailsOf(connection), ...details } });
}

function pinOf({ issuer, repositoryId, ownerId, repositoryPath }: CiJob) {
  return { issuer, repositoryId, ownerId, repositoryPath };
}
