/**
 * This is the background half of discovery. A worker that dies leaves the search open and its job to the next
 * one, which begins anew; of two that search at the same time the first to end counts. What a search found is
 * stored, and its pipelines defined, in one transaction.
 */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { JobKind } from '../../kit/jobs/index.ts';
import { connectionJob, type Connection } from '../connections/index.ts';
import { definePipelines } from '../pipelines/index.ts';
import {
  createReaders,
  forgeApi,
  ForgeError,
  PROVIDERS,
  type ForgeDeps,
  type Readers,
  type Snapshot,
} from '../providers/index.ts';
import { failureOf, NoBranch, search } from './search.ts';
import { beginDiscovery, fail, forgetOld, lastFiles, succeed, type BegunDiscovery } from './store.ts';

export interface DiscoverDeps extends ForgeDeps {
  readonly db: Database;
  readonly clock: Clock;
}

export function discoverJob(deps: DiscoverDeps): JobKind {
  const { db } = deps;
  const readers = createReaders();
  return connectionJob(deps, {
    kind: 'ci_discover',
    // Somebody waits for the answer, and may ask again: 15 s of patience with a host, not hours.
    attempts: 3,
    patienceMs: 60_000,
    timeoutMs: 4 * 60_000,
    run: async (connection, _job, signal) => {
      const begun = await beginDiscovery(db, connection);
      // Otherwise somebody else has ended it.
      if (begun !== undefined) await discover({ ...deps, readers, signal }, connection, begun);
    },
    gaveUp: async (connection, error) => {
      const begun = await beginDiscovery(db, connection);
      if (begun !== undefined) await giveUp(deps, { connection, begun, error });
    },
  });
}

interface FailedDiscovery {
  readonly connection: Connection;
  readonly begun: BegunDiscovery;
  readonly error: unknown;
}

async function giveUp(
  { db, clock }: DiscoverDeps,
  { connection, begun, error }: FailedDiscovery,
): Promise<void> {
  const isShown = error instanceof ForgeError || error instanceof NoBranch;
  const why = isShown
    ? failureOf(error, connection.token !== null)
    : 'internal: the search ended by an error of this service, whose operators were told';
  await db.transact(async (tx) => {
    await fail(tx, { id: begun.id, error: why, now: clock.now() });
    await forgetOld(tx, connection);
  });
}

async function discover(
  { db, clock, fetch, secrets, readers, signal }: DiscoverDeps & { readers: Readers; signal: AbortSignal },
  connection: Connection,
  { id, branch }: BegunDiscovery,
): Promise<void> {
  const { definitions: own } = PROVIDERS[connection.provider];
  const known = await lastFiles(db, connection);
  const api = forgeApi({ fetch, secrets }, connection, signal);
  const snapshot = await search(api, {
    branch,
    own,
    known,
    reading: readers.open(connection.teamId, signal),
  });
  const now = clock.now();
  await db.transact(async (tx) => {
    if (!(await succeed(tx, { id, snapshot, now }))) return;
    await definePipelines({ db: tx, connection, now }, seenBy(snapshot, own));
    await forgetOld(tx, connection);
  });
}

/** Selects what concerns the pipelines of the connection itself. */
function seenBy({ files, truncated, incompleteReason, problems }: Snapshot, own: readonly string[]) {
  const found = files.flatMap(({ pipelines }) => pipelines).filter(({ provider }) => own.includes(provider));
  const bad = [...problems, ...files.flatMap((file) => file.problems)].filter(({ fatal }) => fatal);
  return {
    found,
    complete: !truncated && incompleteReason === undefined,
    unreadable: new Set(bad.map(({ path }) => path)),
  };
}
