/**
 * The repository whose id_tokens a connection takes. The first one pins the repository by its ids, if the name that the connection was made with is the repository's
 * at that moment; from then on the ids alone decide. So a renamed repository goes on, and a name that somebody else took over, or a
 * repository that went to another owner, ends here until an admin takes the pin back. A repository is the pin of one connection of all teams.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { recordAct } from '../../../kit/ledger/index.ts';
import type { ActCtx } from '../../../kit/ledger/index.ts';
import type { CiJob } from '../../../kit/context.ts';
import { isUniqueViolation } from '../../../base/db/errors.ts';
import type { Database } from '../../../base/db/index.ts';
import { act } from '../connections.ts';
import { readConnection } from '../connections-system.ts';
import type { Connection } from '../model/connection.ts';
import { repositoryName } from '../repository.ts';
import type { CiJobCaller } from './caller.ts';
import { claimsOf } from './claims.ts';
import { HOSTS } from './issuers.ts';
import { refused } from './refusals.ts';
import { findPinnedConnection } from './store.ts';

type JobCtx = ActCtx & { readonly caller: CiJobCaller };

/** A job that showed the id_token itself may pin the repository. */
export async function checkRepository(db: Database, ctx: JobCtx, connection: Connection): Promise<void> {
  const { ciJob: job, idToken } = ctx.caller;
  const mayPin = idToken !== undefined;
  if (connection.provider !== job.provider)
    throw refused(
      `the connection's provider is ${connection.provider}, the issuer speaks for ${job.provider}`,
      {
        claim: 'iss',
        claims: claimsOf(job),
      },
    );
  const known = connection.oidcIssuer === null && mayPin ? await locked(db, connection) : connection;
  if (known.oidcIssuer !== null) {
    checkPin(known, job);
    if (known.oidcRepositoryPath !== job.repositoryPath) await rename(db, ctx, known);
  } else if (mayPin) await pin(db, ctx, known);
  else
    throw refused('the pin of the connection was taken back after the id_token was exchanged', {
      claims: claimsOf(job),
    });
}

/** Locks the connection: of two first tokens one waits, and finds the pin of the other. */
async function locked(db: Database, connection: Connection): Promise<Connection> {
  await db.sql`select 1 from ci_connections where id = ${connection.id} for no key update`;
  return (await readConnection(db, connection.id)) ?? connection;
}

function checkPin({ oidcIssuer, oidcRepositoryId, oidcOwnerId }: Connection, job: CiJob): void {
  const isGitHub = job.provider === 'github';
  const demand = (claim: string, pinned: string | null, value: string): void => {
    if (pinned === value) return;
    throw refused(
      `the connection is pinned to the ${claim} ${pinned}; after the repository was moved or made again an admin takes the pin back (svc ci connections reset-oidc-pin)`,
      { claim, claims: claimsOf(job) },
    );
  };
  demand('iss', oidcIssuer, job.issuer);
  demand(isGitHub ? 'repository_id' : 'project_id', oidcRepositoryId, job.repositoryId);
  demand(isGitHub ? 'repository_owner_id' : 'namespace_id', oidcOwnerId, job.ownerId);
}

async function pin(db: Database, ctx: JobCtx, connection: Connection): Promise<void> {
  const { ciJob: job } = ctx.caller;
  const claim = job.provider === 'github' ? 'repository' : 'project_path';
  const about = { claim, claims: claimsOf(job) };
  if (repositoryName(HOSTS[job.provider], job.repositoryPath)?.key !== connection.repositoryKey)
    throw refused(`the connection is of ${connection.repositoryHost}/${connection.repositoryPath}`, about);
  if ((await findPinnedConnection(db, job)) !== undefined) throw takenElsewhere(about);
  try {
    await db.sql`
      update ci_connections set oidc_issuer = ${job.issuer}, oidc_repository_id = ${job.repositoryId}, oidc_owner_id = ${job.ownerId},
        oidc_repository_path = ${job.repositoryPath}, oidc_pinned_at = ${ctx.clock.now()}
      where id = ${connection.id} and oidc_issuer is null`;
  } catch (error) {
    if (isUniqueViolation(error, 'ci_connections_oidc')) throw takenElsewhere(about);
    throw error;
  }
  await recordAct(db, ctx, act('ci_connection.oidc_pinned', connection, pinOf(job)));
}

function takenElsewhere(about: Parameters<typeof refused>[1]): Error {
  return refused(
    'the repository reports to another connection already, and to one at a time; delete that one, or take its pin back',
    about,
  );
}

async function rename(db: Database, ctx: JobCtx, connection: Connection): Promise<void> {
  const { ciJob: job } = ctx.caller;
  await db.sql`update ci_connections set oidc_repository_path = ${job.repositoryPath} where id = ${connection.id}`;
  const more = { ...pinOf(job), before: connection.oidcRepositoryPath };
  await recordAct(db, ctx, act('ci_connection.oidc_renamed', connection, more));
}

function pinOf({ issuer, repositoryId, ownerId, repositoryPath }: CiJob) {
  return { issuer, repositoryId, ownerId, repositoryPath };
}
