/** Makes the people of a test. They join through the API as real ones do, by invitation. */
import { randomBytes } from 'node:crypto';
import type { TestResponse, TestServer } from './server.ts';

export interface Person {
  readonly userId: string;
  readonly email: string;
  readonly username: string;
  readonly password: string;
  /** Session token. */
  readonly token: string;
}

export const PASSWORD = 'correct horse battery';

/** Signs in with e-mail and password. */
export async function signIn(
  server: TestServer,
  email: string,
  password: string = PASSWORD,
): Promise<{ token: string; userId: string }> {
  const { status, text, body } = await server.call('POST /auth/login', { body: { email, password } });
  if (status !== 200) throw new Error(`sign-in of ${email} answered ${status}: ${text}`);
  return body as { token: string; userId: string };
}

/** Opens a session of the account of the first start. */
export async function firstSession(server: TestServer): Promise<string> {
  const { staffEmail, staffPassword } = server.first;
  return (await signIn(server, staffEmail, staffPassword)).token;
}

/**
 * Returns in place of the first start's keys a session of their account, because keys make neither keys nor
 * owners and admins.
 */
async function inPerson(server: TestServer, as: string): Promise<string> {
  const { apiKey, staffApiKey } = server.first;
  return as === apiKey || as === staffApiKey ? await firstSession(server) : as;
}

/** Staff vouch for the address of an account. */
export async function verify(server: TestServer, userId: string): Promise<void> {
  const { status, text } = await server.call(`POST /admin/accounts/${userId}/verify-email`, {
    as: await firstSession(server),
    body: {},
  });
  if (status !== 200) throw new Error(`verification of ${userId} answered ${status}: ${text}`);
}

/** Makes a new account with a role in a team, which `as` invites. Its address is not verified. */
export async function join(
  server: TestServer,
  as: string,
  { teamId, role }: { readonly teamId: string; readonly role: string },
): Promise<Person> {
  const username = `p${randomBytes(5).toString('hex')}`;
  const email = `${username}@example.com`;
  const invited = await server.call(`POST /teams/${teamId}/invites`, {
    as: await inPerson(server, as),
    body: { email, role },
  });
  if (invited.status !== 201) throw new Error(`invitation answered ${invited.status}: ${invited.text}`);
  const accepted = await server.call('POST /invites/accept', {
    body: { token: invited.body['token'], username, password: PASSWORD },
  });
  if (accepted.status !== 200) throw new Error(`acceptance answered ${accepted.status}: ${accepted.text}`);
  return { email, username, password: PASSWORD, ...(await signIn(server, email)) };
}

/**
 * A person with a verified address who owns a team of their own and belongs to no other: the other tenant.
 */
export async function stranger(server: TestServer): Promise<Person & { readonly teamId: string }> {
  const person = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'viewer' });
  await verify(server, person.userId);
  const team = await server.call('POST /teams', { as: person.token, body: { name: 'other team' } });
  const left = await server.call(`DELETE /teams/${server.first.teamId}/members/${person.userId}`, {
    as: person.token,
  });
  if (team.status !== 201 || left.status !== 204)
    throw new Error(`team answered ${team.text}, leaving ${left.text}`);
  return { ...person, teamId: String(team.body['id']) };
}

/** Makes an API key of the person. */
export async function newKey(
  server: TestServer,
  as: string,
  request: Readonly<Record<string, unknown>> = {},
): Promise<{ id: string; secret: string }> {
  const { status, text, body } = await server.call('POST /api-keys', {
    as: await inPerson(server, as),
    body: { name: 'test', ...request },
  });
  if (status !== 201) throw new Error(`key creation answered ${status}: ${text}`);
  return { id: String((body['apiKey'] as { id: string }).id), secret: String(body['secret']) };
}

/** Ends an API key that the person has. */
export async function revokeKey(server: TestServer, as: string, id: string): Promise<TestResponse> {
  return await server.call(`DELETE /api-keys/${id}`, { as: await inPerson(server, as) });
}
