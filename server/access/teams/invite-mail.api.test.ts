/** These send invitations by a real mail server, which is away at times and refuses some. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NOBODY, startSmtp, tokenOf } from '../../../test/setup/mail/smtp.ts';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, PASSWORD, signIn, verify } from '../../../test/setup/people.ts';
import { useServer, withServer } from '../../../test/setup/use-server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

const smtp = await startSmtp();
afterAll(smtp.stop);

const MAILED = { SMTP_URL: smtp.url, MAIL_FROM: 'Service <svc@example.net>' };
const fresh = (): string => `p${randomBytes(5).toString('hex')}`;

describe.skipIf(!(await has('postgres')))('an invitation by mail', () => {
  const { server, call } = useServer({ env: MAILED });
  let session = '';
  let teamId = '';
  beforeAll(async () => {
    session = await firstSession(server);
    const { body } = await call(session, 'POST /teams', { name: 'mailers' });
    teamId = String(body['id']);
  });
  const invite = async (email: string) =>
    await call(session, `POST /teams/${teamId}/invites`, { email, role: 'developer' });
  const mailTo = async (address: string) => await waitFor(`a mail to ${address}`, () => smtp.to(address)[0]);
  const shown = async (email: string) => {
    const { body } = await call(session, `GET /teams/${teamId}/invites`);
    return (body['invites'] as Array<Record<string, unknown>>).find((each) => each['email'] === email);
  };
  const jobsOf = async (id: string) =>
    await server.db.sql<Array<{ state: string; attempts: number; row: string; lastError: string | null }>>`
      select state, attempts, last_error as "lastError", j::text as row from jobs j where j.key = ${id}`;
  const idOf = (body: Record<string, unknown>): string => (body['invite'] as { id: string }).id;
  /** Makes those that failed due at once. */
  const hurry = async (): Promise<void> => {
    await server.db.sql`update jobs set due_at = now() where kind = 'invite_mail' and state = 'waiting'`;
  };

  it('does not answer the token, keeps it nowhere once it is sent, and verifies who accepts', async () => {
    const username = fresh();
    const email = `${username}@example.com`;
    const { status, body, text } = await invite(email);
    expect(status).toBe(201);
    expect(body).toMatchObject({ mailedTo: email, invite: { mail: expect.stringMatching(/waiting|sent/) } });
    expect(body).not.toHaveProperty('token');
    const mail = await mailTo(email);
    const token = tokenOf(mail);
    expect(token).toMatch(/^invt_/);
    expect(text).not.toContain(token);
    expect(mail).toMatchObject({ from: 'svc@example.net', to: [email] });
    expect(mail.headers.get('from')).toBe('Service <svc@example.net>');
    expect(mail.headers.get('subject')).toBe('You are invited to “mailers”');
    expect(mail.html).toContain(`/console/accept-invite#token=${token}"`);
    await waitFor('the mail is noted', async () => (await shown(email))?.['mail'] === 'sent');
    await waitFor('the row is gone', async () => (await jobsOf(idOf(body))).length === 0);
    expect(await everywhere(token)).toEqual([]);
    expect(await everywhere(email)).toContain('team_invites');

    const accepted = await call(undefined, 'POST /invites/accept', { token, username, password: PASSWORD });
    expect(accepted.body).toMatchObject({ pending: false, team: { id: teamId } });
    const { token: own } = await signIn(server, email);
    expect((await call(own, 'GET /account')).body).toMatchObject({ emailVerified: true });
    expect((await call(own, 'POST /teams', { name: 'their own' })).status).toBe(201);
  });

  /** Tables in which a text stands, of all that the server has. */
  async function everywhere(text: string): Promise<string[]> {
    const tables = await server.db.sql<Array<{ name: string }>>`
      select quote_ident(c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relkind = 'r' order by 1`;
    expect(tables.length).toBeGreaterThan(50);
    const found: string[] = [];
    for (const { name } of tables) {
      const query = `select 1 from ${name} t where strpos(t::text, '${text}') > 0 limit 1`;
      if ((await server.asOwner(query)).length > 0) found.push(name);
    }
    return found;
  }

  it('verifies an account that was not verified, which joins without being confirmed', async () => {
    const username = fresh();
    const email = `${username}@example.com`;
    await invite(email);
    const first = tokenOf(await mailTo(email));
    await call(undefined, 'POST /invites/accept', { token: first, username, password: PASSWORD });
    const { token: own, userId } = await signIn(server, email);
    await server.db.sql`update users set email_verified_at = null where id = ${userId}`;
    const other = await call(session, 'POST /teams', {
      name: 'others',
      members: [{ email, role: 'viewer' }],
    });
    const second = await waitFor('the mail of the other team', () => smtp.to(email)[1]);
    expect((await call(own, 'POST /invites/accept', { token: tokenOf(second) })).body).toMatchObject({
      pending: false,
      team: { id: other.body['id'] },
    });
    expect((await call(own, 'GET /account')).body).toMatchObject({ emailVerified: true });
    const entries = await server.db.sql`
      select from audit_entries where action = 'account.email_verified' and target = ${userId}`;
    expect(entries).toHaveLength(1);
  });

  it('is tried again while the mail server is away, and is sent once', async () => {
    const email = `${fresh()}@example.com`;
    await smtp.stop();
    const { body } = await invite(email);
    const [job] = await waitFor('an attempt that failed', async () => await jobsOf(idOf(body)), {
      holds: ([each]) => each?.state === 'waiting' && each.attempts === 1 && each.lastError !== null,
    });
    expect(job?.row).not.toContain('invt_');
    expect((await shown(email))?.['mail']).toBe('waiting');
    await smtp.startAgain();
    await hurry();
    await mailTo(email);
    await waitFor('the row is gone', async () => (await jobsOf(idOf(body))).length === 0);
    expect(smtp.to(email)).toHaveLength(1);
  });

  it('is given up when the address is refused: the reason is shown, and the token is gone', async () => {
    const email = `${NOBODY}${fresh()}@example.com`;
    const { body } = await invite(email);
    const failed = await waitFor('the failure', async () => {
      const each = await shown(email);
      return each?.['mail'] === 'failed' ? each : undefined;
    });
    expect(failed['mailProblem']).toBe('the mail server refused it: 550 5.1.1 no such mailbox');
    const [job] = await waitFor('the dead job', async () => await jobsOf(idOf(body)), {
      holds: ([each]) => each?.state === 'dead',
    });
    expect(job).toMatchObject({ attempts: 1, lastError: expect.stringContaining('550 5.1.1') });
    expect(job?.row).not.toContain('sealed');
  });

  it('is not sent when it was taken back or replaced before', async () => {
    const [revoked, replaced] = [`${fresh()}@example.com`, `${fresh()}@example.com`];
    await smtp.stop();
    const gone = idOf((await invite(revoked)).body);
    await invite(replaced);
    expect((await call(session, `DELETE /teams/${teamId}/invites/${gone}`)).status).toBe(204);
    const newer = idOf((await invite(replaced)).body);
    await smtp.startAgain();
    await waitFor('no mail waits', async () => {
      await hurry();
      const left = await server.db.sql`select from jobs where kind = 'invite_mail' and state <> 'dead'`;
      return left.length === 0;
    });
    expect(smtp.to(revoked)).toEqual([]);
    expect(smtp.to(replaced)).toHaveLength(1);
    expect((await shown(replaced))?.['id']).toBe(newer);
  });

  it('shows names of teams as the texts that they are', async () => {
    const hostile = [
      ['x\r\nBcc: victim\r\n\r\n<h1>hi', '“x Bcc: victim <h1>hi”'],
      ['<img src=x onerror=1>&"', '“<img src=x onerror=1>&"”'],
      ['win at https://evil.example/now', 'a team'],
    ] as const;
    for (const [name, shownAs] of hostile) {
      const email = `${fresh()}@example.com`;
      const team = await call(session, 'POST /teams', { name, members: [{ email, role: 'viewer' }] });
      expect(team.status).toBe(201);
      const mail = await mailTo(email);
      expect(mail.headers.get('subject')).toBe(`You are invited to ${shownAs}`);
      expect(mail.to).toEqual([email]);
      expect(mail.headers.has('bcc')).toBe(false);
      expect(mail.html).not.toMatch(/<img|<h1/);
      expect(mail.text).not.toContain('evil.example');
    }
  });

  it('is bounded for each address', async () => {
    const email = `${fresh()}@example.com`;
    const statuses: number[] = [];
    for (let count = 0; count < 6; count += 1) statuses.push((await invite(email)).status);
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429]);
  });
});

describe.skipIf(!(await has('postgres')))('an invitation without a mail server', () => {
  it('answers the token, and verifies nobody', async () => {
    await withServer({}, async (server) => {
      const session = await firstSession(server);
      const username = fresh();
      const email = `${username}@example.com`;
      const route = `POST /teams/${server.first.teamId}/invites`;
      const { body } = await server.call(route, { as: session, body: { email } });
      expect(body).not.toHaveProperty('mailedTo');
      expect(body['invite']).not.toHaveProperty('mail');
      const { token } = body;
      await server.call('POST /invites/accept', { body: { token, username, password: PASSWORD } });
      const { token: own, userId } = await signIn(server, email);
      expect((await server.call('GET /account', { as: own })).body).toMatchObject({ emailVerified: false });
      const asked = await server.call('POST /account/email/verification', { as: own, body: {} });
      expect([asked.status, asked.code]).toEqual([503, 'mail_unconfigured']);
      await verify(server, userId);
    });
  });
});
