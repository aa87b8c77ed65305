/** Signing in and out of the console, and a session that ends while somebody works. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stepAt, totpCode } from '../../server/access/accounts/totp-code.ts';
import { join, signIn } from '../setup/people.ts';
import { isConsoleHere, signInAs, startConsole, type OwnConsole } from './console.ts';
import { seen } from './seen.ts';
import { outsider } from './fleet.ts';

const STAFF_IDLE_MS = 30 * 60_000;
const STEP_MS = 30_000;

describe.skipIf(!(await isConsoleHere()))('signing in', () => {
  let console_: OwnConsole;
  beforeAll(async () => {
    console_ = await startConsole();
  });
  afterAll(async () => await console_.stop());

  /**
   * The session ends while the dialog is open. The page notices by the click, or has noticed before it,
   * because its stream of features ends as well.
   */
  const endSession = async (page: Page): Promise<void> => {
    const confirm = page.getByRole('button', { name: 'Turn off' });
    await confirm.click({ trial: true });
    console_.passTime(STAFF_IDLE_MS + 60_000);
    // A click by Playwright would wait for a button that is gone by then, and press the one of the next
    // dialog.
    await confirm.evaluateAll((buttons) => buttons.forEach((button) => button.click()));
    await page.getByText('Your session has ended. Sign in again to go on where you were.').waitFor();
  };
  const switchOf = (page: Page, key: string) => page.getByRole('switch', { name: key, exact: true });

  it('says that a password is wrong, and lets in with the right one', async () => {
    const { page, complaints } = await console_.open('/console/features');
    await expect.poll(() => page.title()).toBe('Sign in · svc console');
    const { staffEmail, staffPassword } = console_.server.first;
    await signInAs(page, staffEmail, 'not the password');
    const field = page.getByLabel('Password');
    await seen(page.getByRole('alert'), 'E-mail address or password is wrong.');
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true');
    await signInAs(page, staffEmail, staffPassword);
    await switchOf(page, 'host.ci').waitFor();
    await expect.poll(() => page.title()).toBe('Platform features · svc console');
    await expect.poll(() => new URL(page.url()).pathname).toBe('/console/staff/platform-features');
    expect(complaints).toEqual([]);
  });

  it('keeps the session in a cookie that no script can read, and ends it on the server', async () => {
    const { page } = await console_.openAsStaff('/console/');
    await page.waitForURL('**/console/teams/*');
    expect(await page.evaluate('document.cookie')).toBe('');
    // The browser keeps the last team, and nothing else.
    expect(await page.evaluate('[Object.keys(localStorage), Object.keys(sessionStorage)]')).toEqual([
      ['svc.team'],
      [],
    ]);
    const [cookie, ...others] = await page.context().cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({
      name: '__Host-sid',
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
      path: '/',
    });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
    await expect.poll(() => page.context().cookies()).toEqual([]);
    const answer = await console_.server.call('GET /account', { as: cookie?.value });
    expect(answer.code).toBe('credentials_invalid');
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
  });

  it('asks for a one-time code when the account has TOTP', async () => {
    const { server } = console_;
    const person = await outsider(console_);
    const begun = await server.call('POST /account/totp', { as: person.token, body: {} });
    const secret = decodeBase32(String(begun.body['secret']));
    const code = (): string => totpCode(secret, stepAt(new Date(Date.now() + aheadMs)));
    let aheadMs = 0;
    const confirmed = await server.call('POST /account/totp/confirm', {
      as: person.token,
      body: { code: code() },
    });
    expect(confirmed.status, confirmed.text).toBe(200);
    // Each code counts once.
    console_.passTime(STEP_MS * 2);
    aheadMs += STEP_MS * 2;

    const { page } = await console_.open('/console/');
    await signInAs(page, person.email, person.password);
    const field = page.getByLabel('One-time code');
    await field.waitFor();
    await field.fill('000 000');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('alert'), 'This code is wrong');
    await field.fill(code());
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  });

  it('tells people who are not staff so, and shows what the installation offers', async () => {
    const { server } = console_;
    const person = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'owner' });
    const { page } = await console_.open('/console/features');
    await signInAs(page, person.email, person.password);
    await page.getByRole('heading', { name: 'This page is for staff' }).waitFor();
    const pages = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await page.goto('/console');
    await page.waitForURL('**/console/teams/*');
    await seen(pages, 'Runners');
    expect(await pages.allTextContents()).toEqual(
      expect.arrayContaining([
        'Overview',
        'Projects',
        'Runs',
        'Runners',
        'CI connections',
        'Costs',
        'Members',
      ]),
    );
  });

  it('names the waiting time when there were too many tries', async () => {
    const { page } = await console_.open('/console/');
    // The account's own tries are used up elsewhere; this page sees the refusal alone.
    const guess = { email: 'nobody@example.com', password: 'wrong password' };
    let code: string | undefined;
    for (let tries = 0; tries < 20 && code !== 'rate_limited'; tries += 1)
      code = (await console_.server.call('POST /auth/login', { body: guess })).code;
    expect(code).toBe('rate_limited');
    await signInAs(page, guess.email, guess.password);
    await seen(page.getByRole('alert'), /Too many tries\. Try again in \d+ (seconds|minutes)\./);
  });

  it('goes on by itself when the server can be reached again', async () => {
    const { page } = await console_.open('/console/');
    await page.route('**/account', async (route) => await route.abort());
    await page.reload();
    await page.getByRole('heading', { name: 'The console cannot go on' }).waitFor();
    await seen(page.getByRole('alert'), 'The server cannot be reached.');
    await page.unroute('**/account');
    await page.getByLabel('E-mail address').waitFor();
  });

  it('stays where it is when signing out failed, and says so', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    await page.route('**/auth/logout', async (route) => await route.abort());
    await page.getByRole('button', { name: 'Sign out' }).click();
    await seen(page.getByRole('alert'), 'You are still signed in.');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.crumbs').waitFor();
  });

  it('takes nothing away when the session ends in the middle of a sentence', async () => {
    const { page } = await console_.openAsStaff('/console/features?q=host.ci');
    await switchOf(page, 'host.ci').click();
    const reason = page.getByLabel('Reason');
    await reason.fill('half a sentence, and then lunch');
    await endSession(page);
    await expect.poll(() => new URL(page.url()).search).toBe('?q=host.ci');
    await expect
      .poll(() => page.getByLabel('E-mail address').inputValue())
      .toBe(console_.server.first.staffEmail);
    await signInAs(page, console_.server.first.staffEmail, console_.server.first.staffPassword);
    await expect.poll(() => reason.inputValue()).toBe('half a sentence, and then lunch');
    await page.getByRole('button', { name: 'Turn off' }).click();
    await page.getByText('host.ci is turned off.').waitFor();
  });

  it('gives what one person left to nobody else', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    await switchOf(page, 'host.graph').click();
    await page.getByLabel('Reason').fill('not for other eyes');
    await endSession(page);
    await signInAs(page, console_.ada.email, console_.ada.password);
    await switchOf(page, 'host.graph').waitFor();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  it('says so when the code of a page is gone because the console was updated', async () => {
    const { page } = await console_.open('/console/features');
    await page.route('**/assets/features-page-*.js', async (route) => await route.fulfill({ status: 404 }));
    await signInAs(page, console_.ada.email, console_.ada.password);
    await page.getByText('This page could not be fetched.').waitFor();
    await page.unroute('**/assets/features-page-*.js');
    await page.getByRole('button', { name: 'Reload' }).click();
    await switchOf(page, 'host.ci').waitFor();
  });

  it('refuses a request that another site makes the browser send', async () => {
    const { token } = await signIn(console_.server, console_.ada.email);
    const forged = await console_.server.call('PATCH /admin/platform-features/host.ci', {
      headers: { cookie: `__Host-sid=${token}`, 'sec-fetch-site': 'cross-site' },
      body: { state: 'enabled', reason: 'from another site' },
    });
    expect([forged.status, forged.code]).toEqual([403, 'csrf_refused']);
  });
});

function decodeBase32(text: string): Uint8Array {
  const bits = [...text.replace(/=+$/, '')]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
}
