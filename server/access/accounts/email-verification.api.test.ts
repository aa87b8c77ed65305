/** A link by mail verifies the address of the account that asked for it, once. By a real mail server. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmtp, tokenOf } from '../../../test/setup/mail/smtp.ts';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, PASSWORD, signIn } from '../../../test/setup/people.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

const smtp = await startSmtp();
afterAll(smtp.stop);

describe.skipIf(!(await has('postgres')))('an address that is verified by mail', () => {
  const { server, call, outcomeOf } = useServer({
    env: { SMTP_URL: smtp.url, MAIL_FROM: 'svc@example.net' },
  });
  let session = '';
  beforeAll(async () => {
    session = await firstSession(server);
  });
  /** Its address is not verified, as of one that joined by a token that somebody saw. */
  const unverified = async () => {
    const username = `p${randomBytes(5).toString('hex')}`;
    const email = `${username}@example.com`;
    await call(session, `POST /teams/${server.first.teamId}/invites`, { email });
    const mail = await waitFor('the invitation', () => smtp.to(email)[0]);
    const token = tokenOf(mail);
    await call(undefined, 'POST /invites/accept', { token, username, password: PASSWORD });
    const { token: own, userId } = await signIn(server, email);
    await server.db.sql`update users set email_verified_at = null where id = ${userId}`;
    return { email, userId, token: own };
  };
  const ask = async (as: string) => await call(as, 'POST /account/email/verification', {});
  const use = async (as: string, token: string) =>
    await outcomeOf(as, 'POST /account/email/verify', { token });
  const linkTo = async (email: string, nth: number) =>
    tokenOf(await waitFor(`link ${nth} to ${email}`, () => smtp.to(email)[nth]));
  const isVerified = async (as: string) => (await call(as, 'GET /account')).body['emailVerified'];

  it('is verified by the link, once, and by nobody else', async () => {
    const [person, other] = [await unverified(), await unverified()];
    const asked = await ask(person.token);
    expect([asked.status, asked.body['mailedTo']]).toEqual([202, person.email]);
    const token = await linkTo(person.email, 1);
    const [row] = await server.db.sql<Array<{ row: string }>>`
      select v::text as row from email_verifications v where v.user_id = ${person.userId}`;
    expect(row?.row).not.toContain(token);

    const refused = await call(other.token, 'POST /account/email/verify', { token });
    const unknown = await call(other.token, 'POST /account/email/verify', { token: 'emt_unknown' });
    expect([refused.status, refused.code]).toEqual([404, 'not_found']);
    const said = ({ body }: typeof refused) => ({ ...(body['error'] as object), requestId: '' });
    expect(said(refused)).toEqual(said(unknown));
    expect(await isVerified(other.token)).toBe(false);

    expect((await call(person.token, 'POST /account/email/verify', { token })).body).toMatchObject({
      emailVerified: true,
    });
    expect(await use(person.token, token)).toBe('404 not_found');
    expect((await ask(person.token)).code).toBe('state_conflict');
  });

  it('is not verified by a link that is a day old, or that went to another address', async () => {
    const person = await unverified();
    await ask(person.token);
    await ask(person.token);
    const [late, moved] = [await linkTo(person.email, 1), await linkTo(person.email, 2)];
    await server.db.sql`update email_verifications set expires_at = now() where user_id = ${person.userId}`;
    expect(await use(person.token, late)).toBe('404 not_found');
    await server.db.sql`
      update email_verifications set expires_at = now() + interval '1 hour', email = 'before@example.com' where user_id = ${person.userId}`;
    expect(await use(person.token, moved)).toBe('404 not_found');
    expect(await isVerified(person.token)).toBe(false);
  });

  it('is asked for at most five times within an hour', async () => {
    const person = await unverified();
    const statuses: number[] = [];
    for (let count = 0; count < 6; count += 1) statuses.push((await ask(person.token)).status);
    expect(statuses).toEqual([202, 202, 202, 202, 202, 429]);
  });

  it('takes a session and no key', async () => {
    expect(await use(server.first.apiKey, 'emt_unknown')).toBe('403 session_required');
  });
});
