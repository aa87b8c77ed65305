/** This file reads and writes purchases in the database. */
import { and, eq, inArray, isNull, ne, or, sql as raw } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import type { ProviderSession } from './provider.ts';
import { billingCheckouts } from './schema.ts';

export type Checkout = Readonly<typeof billingCheckouts.$inferSelect>;
export type NewCheckout = typeof billingCheckouts.$inferInsert;

const OPEN: Array<Checkout['state']> = ['creating', 'open'];
const { id, userId, kind, teamId, state, sessionId, endedAt } = billingCheckouts;

/** Inserts a purchase. Returns false when one of the account and kind is open. */
export async function insertCheckout({ orm }: Database, row: NewCheckout): Promise<boolean> {
  const rows = await orm
    .insert(billingCheckouts)
    .values(row)
    .onConflictDoNothing()
    .returning({ id: billingCheckouts.id });
  return rows.length > 0;
}

/** This returns the open purchase of the account, the kind and, for credit, the team. */
export async function findOpen(
  { orm }: Database,
  of: Pick<NewCheckout, 'userId' | 'kind' | 'teamId'>,
): Promise<Checkout | undefined> {
  const [row] = await orm
    .select()
    .from(billingCheckouts)
    .where(
      and(
        eq(userId, of.userId),
        eq(kind, of.kind),
        raw`coalesce(${teamId}, '') = ${of.teamId ?? ''}`,
        inArray(state, OPEN),
      ),
    );
  return row;
}

export async function findCheckout({ orm }: Database, checkoutId: string): Promise<Checkout | undefined> {
  const [row] = await orm.select().from(billingCheckouts).where(eq(id, checkoutId));
  return row;
}

/** This returns our row of a session: the one that it was stored with, or the one whose answer was lost. */
export async function checkoutOf({ orm }: Database, session: ProviderSession): Promise<Checkout | undefined> {
  const [bound] = await orm.select().from(billingCheckouts).where(eq(sessionId, session.id));
  if (bound !== undefined) return bound;
  const { checkoutId } = session;
  if (checkoutId === undefined) return undefined;
  const [waiting] = await orm
    .select()
    .from(billingCheckouts)
    .where(and(eq(id, checkoutId), isNull(sessionId)));
  return waiting;
}

/** Returns undefined when the purchase has its session already, or has ended. */
export async function bindSession(
  { orm }: Database,
  checkoutId: string,
  session: ProviderSession,
): Promise<Checkout | undefined> {
  const [row] = await orm
    .update(billingCheckouts)
    .set({ sessionId: session.id, url: session.url ?? null, expiresAt: session.expiresAt, state: 'open' })
    .where(and(eq(id, checkoutId), eq(state, 'creating')))
    .returning();
  return row;
}

/** The person is done with its page: another one may begin. Whether it is paid is another question. */
export async function leaveCheckout(
  { orm }: Database,
  checkoutId: string,
  session: ProviderSession,
): Promise<void> {
  await orm
    .update(billingCheckouts)
    .set({ sessionId: session.id, state: 'completed', url: null })
    .where(and(eq(id, checkoutId), inArray(state, OPEN)));
}

export interface End {
  readonly state: 'completed' | 'expired' | 'failed';
  readonly at: Date;
  readonly sessionId?: string;
}

/**
 * Returns false when the purchase had ended before. One that was given up, and is paid all the same, is
 * completed.
 */
export async function endCheckout(
  { orm }: Database,
  checkoutId: string,
  { state: to, at, sessionId: session }: End,
): Promise<boolean> {
  const rows = await orm
    .update(billingCheckouts)
    .set({ state: to, endedAt: at, url: null, ...(session !== undefined && { sessionId: session }) })
    .where(and(eq(id, checkoutId), to === 'completed' ? or(isNull(endedAt), ne(state, to)) : isNull(endedAt)))
    .returning({ id });
  return rows.length > 0;
}
