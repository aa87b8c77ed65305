/** Accounts in the database. The only file that knows the columns of `users`. */
import { randomBytes } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import type { users } from './schema.ts';

export type User = Readonly<typeof users.$inferSelect>;

export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

const columns = (sql: SqlTag) => sql`
  id, email, username, staff, password_hash as "passwordHash", email_verified_at as "emailVerifiedAt", created_at as "createdAt"`;

export async function findUserByEmail({ sql }: Database, email: string): Promise<User | undefined> {
  const [row] = await sql<User[]>`select ${columns(sql)} from users where email = ${normalizeEmail(email)}`;
  return row;
}

/** Until the end of the transaction nobody else changes the account. */
export async function lockUserByEmail({ sql }: Database, email: string): Promise<User | undefined> {
  const [row] = await sql<
    User[]
  >`select ${columns(sql)} from users where email = ${normalizeEmail(email)} for update`;
  return row;
}

export async function findUserById({ sql }: Database, id: string): Promise<User | undefined> {
  const [row] = await sql<User[]>`select ${columns(sql)} from users where id = ${id}`;
  return row;
}

/** Throws `username_taken`; an e-mail address that has an account already is the caller's to check. */
export async function createUser({ sql }: Database, user: User): Promise<void> {
  try {
    await sql`
      insert into users (id, email, username, password_hash, staff, email_verified_at, created_at)
      values (${user.id}, ${normalizeEmail(user.email)}, ${user.username}, ${user.passwordHash}, ${user.staff}, ${user.emailVerifiedAt}, ${user.createdAt})`;
  } catch (error) {
    throw isUniqueViolation(error, 'users_username') ? usernameTaken(user.username) : error;
  }
}

export async function setUsername({ sql }: Database, userId: string, username: string): Promise<void> {
  try {
    await sql`update users set username = ${username} where id = ${userId}`;
  } catch (error) {
    throw isUniqueViolation(error, 'users_username') ? usernameTaken(username) : error;
  }
}

/** In place of the one that `user` was read with. False: that was changed meanwhile. */
export async function renewPasswordHash(
  { sql }: Database,
  { id, passwordHash }: Pick<User, 'id' | 'passwordHash'>,
  renewed: string,
): Promise<boolean> {
  const { count } =
    await sql`update users set password_hash = ${renewed} where id = ${id} and password_hash = ${passwordHash}`;
  return count === 1;
}

/** True when it was not before. */
export async function setEmailVerified({ sql }: Database, userId: string, at: Date): Promise<boolean> {
  const { count } =
    await sql`update users set email_verified_at = ${at} where id = ${userId} and email_verified_at is null`;
  return count === 1;
}

/** The account lets go of its address and its name, and nobody knows its password. What it is called instead nobody can hold before it. */
export async function retireUser(
  { sql }: Database,
  userId: string,
  unknownPasswordHash: string,
): Promise<void> {
  const name = `gone-${randomBytes(12).toString('hex')}`;
  await sql`
    update users set email = ${`${name}@account.invalid`}, username = ${name}, password_hash = ${unknownPasswordHash}
    where id = ${userId}`;
}

function usernameTaken(username: string): Error {
  return apiError('username_taken', `user name "${username}" is taken; choose another one`);
}
