/** Accounts in the database. The only file that knows the columns of `users`. */
import { apiError } from '@svc/proto/http/errors.ts';
import { isUniqueViolation } from '../platform/db/index.ts';
import type { Database } from '../platform/db/index.ts';

export interface User {
  readonly id: string;
  /** Lower-case. */
  readonly email: string;
  readonly username: string;
  readonly staff: boolean;
  /** PHC string. */
  readonly passwordHash: string;
}

export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly username: string;
  readonly staff: boolean;
  readonly password_hash: string;
}

function fromRow(row: UserRow | undefined): User | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id,
    email: row.email,
    username: row.username,
    staff: row.staff,
    passwordHash: row.password_hash,
  };
}

export async function findUserByEmail({ sql }: Database, email: string): Promise<User | undefined> {
  const [row] = await sql<UserRow[]>`
    select id, email, username, staff, password_hash from users where email = ${normalizeEmail(email)}`;
  return fromRow(row);
}

export async function findUserById({ sql }: Database, id: string): Promise<User | undefined> {
  const [row] = await sql<
    UserRow[]
  >`select id, email, username, staff, password_hash from users where id = ${id}`;
  return fromRow(row);
}

/** Throws `username_taken`; an e-mail address that has an account already is the caller's to check. */
export async function createUser({ sql }: Database, user: User, createdAt: Date): Promise<void> {
  try {
    await sql`
      insert into users (id, email, username, password_hash, staff, created_at)
      values (${user.id}, ${normalizeEmail(user.email)}, ${user.username}, ${user.passwordHash}, ${user.staff}, ${createdAt})`;
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

export async function setPasswordHash(
  { sql }: Database,
  userId: string,
  passwordHash: string,
): Promise<void> {
  await sql`update users set password_hash = ${passwordHash} where id = ${userId}`;
}

function usernameTaken(username: string): Error {
  return apiError('username_taken', `user name "${username}" is taken; choose another one`);
}
