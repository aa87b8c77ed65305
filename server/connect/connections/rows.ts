/**
 * Connections are found for callers, and for workers and the intake of webhooks, which act for no caller and
 * know the connection by its webhook or its job.
 */
import { and, eq, sql, type SQL } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import { inTeams, lockTeam, rowsOf, type NewRow, type RowOf, type Who } from '../../kit/resource/index.ts';
import { newId } from '../../base/ids.ts';
import { ciConnections } from './schema.ts';

export type Connection = RowOf<typeof ciConnections>;
export type NewConnection = NewRow<typeof ciConnections>;

export const connectionRows = rowsOf(ciConnections);

const select = ({ orm }: Database, where: SQL | undefined) => orm.select().from(ciConnections).where(where);

export async function connectionOfRepository(
  { db, teams }: Who,
  { teamId, provider, repositoryKey }: Pick<Connection, 'teamId' | 'provider' | 'repositoryKey'>,
): Promise<Connection | undefined> {
  const { teamId: team, provider: system, repositoryKey: key } = ciConnections;
  const isOf = and(eq(team, teamId), eq(system, provider), eq(key, repositoryKey));
  return (await select(db, and(isOf, inTeams(ciConnections, teams))))[0];
}

/** Makes creations of one team take turns, so that the count is true when it is acted upon. */
export async function countConnections(who: Who, teamId: string): Promise<number> {
  await lockTeam(who, teamId);
  const ofTeam = and(eq(ciConnections.teamId, teamId), inTeams(ciConnections, who.teams));
  return await who.db.orm.$count(ciConnections, ofTeam);
}

/**
 * Finds a connection of any team: for background work, and for jobs of CI systems, which belong to no team
 * before their connection is known.
 */
export async function readConnection(db: Database, id: string): Promise<Connection | undefined> {
  return (await select(db, eq(ciConnections.id, id)))[0];
}

/** Finds the connection, of whichever team, that takes the id_tokens of this repository. */
export async function connectionOfPin(
  db: Database,
  { issuer, repositoryId }: { readonly issuer: string; readonly repositoryId: string },
): Promise<Connection | undefined> {
  const { oidcIssuer, oidcRepositoryId } = ciConnections;
  const isPin = and(eq(oidcIssuer, issuer), eq(oidcRepositoryId, repositoryId));
  return (await select(db, isPin))[0];
}

/** Locks it: of two first id_tokens one waits, and finds the pin of the other. */
export async function lockConnection(db: Database, id: string): Promise<Connection | undefined> {
  return (await select(db, eq(ciConnections.id, id)).for('no key update'))[0];
}

/**
 * Returns the status, which stays so until the end of the transaction, or undefined when the connection was
 * deleted. Others may ask for the same, so that reports do not wait for each other.
 */
export async function holdStatus(
  db: Database,
  { id }: Pick<Connection, 'id'>,
): Promise<Connection['status'] | undefined> {
  return (await select(db, eq(ciConnections.id, id)).for('share'))[0]?.status;
}

/** Writes what was found out about a connection, if the condition holds. */
export async function noteConnection(
  { orm }: Database,
  { id }: Pick<Connection, 'id'>,
  { set, where }: { readonly set: Partial<Connection>; readonly where?: SQL | undefined },
): Promise<void> {
  await orm
    .update(ciConnections)
    .set(set)
    .where(and(eq(ciConnections.id, id), where));
}

/** No request is sent to the connection's host before this time. */
export async function keepQuiet(
  { orm }: Database,
  { id }: Pick<Connection, 'id'>,
  until: Date,
): Promise<void> {
  const { quietUntil } = ciConnections;
  const later = sql`greatest(${quietUntil}, ${sql.param(until, quietUntil)})`;
  await orm.update(ciConnections).set({ quietUntil: later }).where(eq(ciConnections.id, id));
}

/** It is a connection before and after a person has changed it. */
export interface Changed {
  readonly before: Connection;
  readonly after: Connection;
}

/** Returns undefined when the team has connected this repository at this provider already. */
export async function insertConnection(
  { db, teams, clock }: Who & Pick<Ctx, 'clock'>,
  row: NewConnection,
): Promise<Connection | undefined> {
  requireTeam(teams, row.teamId);
  const now = clock.now();
  const { teamId, provider, repositoryKey } = ciConnections;
  const inserted = db.orm
    .insert(ciConnections)
    .values({ id: newId('cic', now.getTime()), createdAt: now, ...row })
    .onConflictDoNothing({ target: [teamId, provider, repositoryKey] });
  return (await inserted.returning())[0];
}
