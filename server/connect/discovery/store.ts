/**
 * This file keeps searches in the database. One of a connection is open at a time, and the last ten that
 * ended are kept.
 */
import { and, desc, eq, inArray, not, notInArray, sql } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import type { Connection } from '../connections/index.ts';
import type { ReadFile, Snapshot } from '../providers/index.ts';
import { ciDiscoveries } from './schema.ts';

const KEPT_MAX = 10;

export type Discovery = Omit<typeof ciDiscoveries.$inferSelect, 'files'>;

type Owner = Pick<Connection, 'id' | 'teamId'>;

const { connectionId, state, teamId: team, id: discoveryId } = ciDiscoveries;
const NEWEST = [desc(ciDiscoveries.requestedAt), desc(discoveryId)] as const;
const isOpen = inArray(state, ['queued', 'running']);

/** False when one is open. */
export async function openDiscovery(
  { orm }: Database,
  { id, teamId, defaultBranch }: Connection,
  requestedAt: Date,
): Promise<boolean> {
  const made = await orm
    .insert(ciDiscoveries)
    .values({
      id: newId('cid', requestedAt.getTime()),
      teamId,
      connectionId: id,
      state: 'queued',
      branch: defaultBranch,
      requestedAt,
    })
    .onConflictDoNothing({ target: connectionId, where: sql`state in ('queued', 'running')` })
    .returning({ id: discoveryId });
  return made.length === 1;
}

export async function latestDiscovery(
  { orm }: Database,
  { id, teamId }: Owner,
): Promise<Discovery | undefined> {
  const [row] = await orm
    .select()
    .from(ciDiscoveries)
    .where(and(eq(connectionId, id), eq(team, teamId)))
    .orderBy(desc(isOpen), ...NEWEST)
    .limit(1);
  return row;
}

export interface BegunDiscovery {
  readonly id: string;
  readonly branch: string;
}

/**
 * Begins the open search, which reads the branch that the connection names now. Undefined when somebody has
 * ended it.
 */
export async function beginDiscovery(
  { orm }: Database,
  { id, defaultBranch }: Connection,
): Promise<BegunDiscovery | undefined> {
  const [row] = await orm
    .update(ciDiscoveries)
    .set({ state: 'running', branch: defaultBranch })
    .where(and(eq(connectionId, id), isOpen))
    .returning({ id: discoveryId, branch: ciDiscoveries.branch });
  return row;
}

/** The files that the last successful search read. */
export async function lastFiles({ orm }: Database, { id }: Owner): Promise<readonly ReadFile[]> {
  const [row] = await orm
    .select()
    .from(ciDiscoveries)
    .where(and(eq(connectionId, id), eq(state, 'succeeded')))
    .orderBy(...NEWEST)
    .limit(1);
  if (row === undefined) return [];
  const { files, pipelines, problems } = row;
  return files.map((file) => ({
    ...file,
    pipelines: pipelines.filter(({ path }) => path === file.path),
    problems: problems.filter(({ path }) => path === file.path),
  }));
}

/** False when it was ended by somebody else. `db` must be the handle of a transaction. */
export async function succeed(
  db: Database,
  { id, snapshot, now }: { readonly id: string; readonly snapshot: Snapshot; readonly now: Date },
): Promise<boolean> {
  const { commit, scanned, truncated, incompleteReason, files, problems } = snapshot;
  return await end(db, id, {
    state: 'succeeded',
    commitSha: commit,
    scanned,
    truncated,
    incompleteReason: incompleteReason ?? null,
    pipelines: files.flatMap((file) => file.pipelines),
    problems: [...problems, ...files.flatMap((file) => file.problems)],
    files: files.map(({ path, key }) => ({ path, key })),
    finishedAt: now,
  });
}

/** Ends the search with an error, unless it was ended by somebody else. */
export async function fail(
  db: Database,
  { id, error, now }: { readonly id: string; readonly error: string; readonly now: Date },
): Promise<void> {
  await end(db, id, { state: 'failed', error, finishedAt: now });
}

async function end(
  { orm }: Database,
  id: string,
  set: Partial<typeof ciDiscoveries.$inferInsert>,
): Promise<boolean> {
  const ended = await orm
    .update(ciDiscoveries)
    .set(set)
    .where(and(eq(discoveryId, id), isOpen))
    .returning({ id: discoveryId });
  return ended.length === 1;
}

export async function forgetOld({ orm }: Database, { id }: Owner): Promise<void> {
  const kept = orm
    .select({ id: discoveryId })
    .from(ciDiscoveries)
    .where(eq(connectionId, id))
    .orderBy(...NEWEST)
    .limit(KEPT_MAX);
  await orm
    .delete(ciDiscoveries)
    .where(and(eq(connectionId, id), not(isOpen), notInArray(discoveryId, kept)));
}
