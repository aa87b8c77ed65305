/** This file reads and writes accounts in the database. */
import { randomBytes } from 'node:crypto';
import { and, eq, isNull } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { newId } from '../../base/ids.ts';
import { isUniqueViolation, type Database } from '../../base/db/index.ts';
import { users } from './schema.ts';

export type User = Readonly<typeof users.$inferSelect>;

export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

const byEmail = ({ orm }: Database, email: string) =>
  orm
    .select()
    .from(users)
    .where(eq(users.email, normalizeEmail(email)));

export async function findUserByEmail(db: Database, email: string): Promise<User | undefined> {
  return (await byEmail(db, email))[0];
}

/** Nobody else changes the account until the transaction ends. */
export async function lockUserByEmail(db: Database, email: string): Promise<User | undefined> {
  return (await byEmail(db, email).for('update'))[0];
}

export async function findUserById({ orm }: Database, id: string): Promise<User | undefined> {
  const [row] = await orm.select().from(users).where(eq(users.id, id));
  return row;
}

/** An account that is not stored yet. */
export const newUser = (user: Omit<User, 'id'>): User => ({
  id: newId('user', user.createdAt.getTime()),
  ...user,
});

/** Throws `username_taken`; an e-mail address that has an account already is the caller's to check. */
export async function createUser({ orm }: Database, user: User): Promise<void> {
  await unlessTaken(user.username, orm.insert(users).values({ ...user, email: normalizeEmail(user.email) }));
}

/** Throws `username_taken`. */
export async function setUsername({ orm }: Database, userId: string, username: string): Promise<void> {
  await unlessTaken(username, orm.update(users).set({ username }).where(eq(users.id, userId)));
}

/** Replaces the hash that `user` was read with. False: that was changed meanwhile. */
export async function renewPasswordHash(
  { orm }: Database,
  { id, passwordHash }: Pick<User, 'id' | 'passwordHash'>,
  renewed: string,
): Promise<boolean> {
  const changed = await orm
    .update(users)
    .set({ passwordHash: renewed })
    .where(and(eq(users.id, id), eq(users.passwordHash, passwordHash)))
    .returning({ id: users.id });
  return changed.length === 1;
}

/** The account, when its address was not verified before. */
export async function setEmailVerified(
  { orm }: Database,
  userId: string,
  at: Date,
): Promise<User | undefined> {
  const [row] = await orm
    .update(users)
    .set({ emailVerifiedAt: at })
    .where(and(eq(users.id, userId), isNull(users.emailVerifiedAt)))
    .returning();
  return row;
}

/**
 * The account lets go of its address and its name, and nobody knows its password. What it is called instead
 * nobody can hold before it.
 */
export async function retireUser(
  { orm }: Database,
  userId: string,
  unknownPasswordHash: string,
): Promise<void> {
  const name = `gone-${randomBytes(12).toString('hex')}`;
  await orm
    .update(users)
    .set({ email: `${name}@account.invalid`, username: name, passwordHash: unknownPasswordHash })
    .where(eq(users.id, userId));
}

async function unlessTaken(username: string, work: PromiseLike<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isUniqueViolation(error, 'users_username')) throw error;
    throw apiError('username_taken', `user name "${username}" is taken; choose another one`, {
      cause: error,
    });
  }
}
