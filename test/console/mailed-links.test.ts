/** These open the links of mails in a browser, as the people do to whom they are sent. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmtp, tokenOf } from '../setup/mail/smtp.ts';
import { firstSession, PASSWORD } from '../setup/people.ts';
import { waitFor } from '../setup/wait-for.ts';
import { consoleOf, isConsoleHere, PHONE, signInAs, startServer, type Console } from './console.ts';
import { passes } from './passes.ts';

describe.skipIf(!(await isConsoleHere()))('a link of a mail', () => {
  let console_: Console;
  let smtp: Awaited<ReturnType<typeof startSmtp>>;
  beforeAll(async () => {
    smtp = await startSmtp();
    console_ = await consoleOf(
      await startServer({ env: { SMTP_URL: smtp.url, MAIL_FROM: 'svc@example.net' } }),
    );
  });
  afterAll(async () => {
    await console_.server.stop();
    await smtp.stop();
  });

  it('makes a verified account that is in the team, and verifies one that is not', async () => {
    const { server } = console_;
    const username = `p${randomBytes(5).toString('hex')}`;
    const email = `${username}@example.com`;
    const session = await firstSession(server);
    await server.call(`POST /teams/${server.first.teamId}/invites`, { as: session, body: { email } });
    const link = async (nth: number) => tokenOf(await waitFor(`mail ${nth}`, () => smtp.to(email)[nth]));

    const asked: string[] = [];
    const { page, complaints } = await console_.open(`/console/accept-invite#token=${await link(0)}`, {
      viewport: PHONE,
    });
    page.on('request', (each) => void asked.push(each.url()));
    await page.getByRole('heading', { name: 'Accept the invitation' }).waitFor();
    await passes(page, 'accept an invitation, 390 px');
    await page.getByLabel('User name').fill(username);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Join the team' }).click();
    await page.getByRole('button', { name: 'Go to sign-in' }).click();
    await signInAs(page, email, PASSWORD);
    await page.waitForURL(`**/console/teams/${server.first.teamId}`);
    expect(asked.filter((url) => url.includes('invt_'))).toEqual([]);

    await server.db.sql`update users set email_verified_at = null where email = ${email}`;
    await page.evaluate(
      `fetch('/account/email/verification', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })`,
    );
    await page.goto(`${server.baseUrl}/console/verify-email#token=${await link(1)}`);
    await page.getByText(`You are signed in as ${email}.`).waitFor();
    await passes(page, 'verify an address, 390 px');
    await page.getByRole('button', { name: 'Verify the address' }).click();
    await page.waitForURL(`**/console/teams/${server.first.teamId}`);
    expect(
      await server.db.sql`select from users where email = ${email} and email_verified_at is not null`,
    ).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it('says what is wrong with one that was used or cut off', async () => {
    const { page } = await console_.open('/console/accept-invite');
    await page.getByRole('heading', { name: 'The link is incomplete' }).waitFor();
    const { page: other } = await console_.open('/console/accept-invite#token=invt_used');
    await other.getByLabel('User name').fill('somebody');
    await other.getByLabel('Password').fill(PASSWORD);
    await other.getByRole('button', { name: 'Join the team' }).click();
    await other.getByRole('alert').getByText('The invitation does not exist, was used').waitFor();
  });
});
