/**
 * These are the stories of the page of costs: the month, its days, what stands out, budgets, and for who may
 * pay credit, statements and plans.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedDays } from '../../server/money/costs/testing/days.ts';
import { newId } from '../../server/base/ids.ts';
import { startStripe, type TestStripe } from '../setup/stripe/index.ts';
import { isConsoleHere, startConsole, VIEWS, type OwnConsole } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';

const DAY = 24 * 60 * 60_000;
const HOUR = 60 * 60_000;

/**
 * Returns noon of the 20th of the month before this one, which has days behind and before, whenever the test
 * runs.
 */
function twentieth(): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 20, 12));
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Nine weeks in which each day costs the same, but for one. */
async function seed(console_: OwnConsole, fleet: Fleet, now: Date): Promise<void> {
  const { sql } = console_.server.db;
  const yesterday = now.getTime() - DAY;
  const { teamId, projectId } = fleet;
  const days = Array.from({ length: 63 }, (_, n) => yesterday - n * DAY);
  await seedDays(
    sql,
    days.flatMap((at, n) => [
      {
        teamId,
        day: dayOf(at),
        projectId,
        environmentId: 'env_gone',
        runnerId: 'rnr_1',
        ms: n === 2 ? 300 * HOUR : 20 * HOUR,
      },
      { teamId, day: dayOf(at), projectId: '', environmentId: '', runnerId: 'rnr_2', ms: 5 * HOUR },
    ]),
  );
  await sql`
    insert into cost_names (team_id, id, name) values (${teamId}, ${projectId}, 'shop'), (${teamId}, 'env_gone', 'production'), (${teamId}, 'rnr_1', 'box 1')
    on conflict do nothing`;
}

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

describe.skipIf(!(await isConsoleHere()))('the page of costs', () => {
  const now = twentieth();
  let console_: OwnConsole;
  let fleet: Fleet;
  let at: string;
  beforeAll(async () => {
    console_ = await startConsole({}, Date.now() - now.getTime());
    fleet = await startFleet(console_);
    await seed(console_, fleet, now);
    at = `/console/costs?team=${fleet.teamId}`;
  });
  afterAll(async () => await console_?.stop());

  it('says what the month costs, day by day, in a drawing and in a table with the same figures', async () => {
    const { page, complaints } = await fleet.open(at);
    await page.getByRole('link', { name: 'Costs', exact: true }).waitFor();
    // 19 days of 25 hours, and 280 hours more on one of them, at 0.36 an hour.
    const month = page.locator('section.month');
    await month.getByText('$271.80', { exact: true }).waitFor();
    await month.getByText('Forecast for the month', { exact: false }).first().waitFor();
    expect(await month.locator('.course-ahead').count()).toBe(1);
    const days = section(page, 'By day');
    expect(await days.locator('rect').count()).toBe(38);
    await days.getByText('The same as a table').click();
    const rows = days.getByRole('row');
    await expect.poll(async () => await rows.count()).toBe(20);
    const [first] = await rows.filter({ hasText: 'stands out' }).allInnerTexts();
    expect(first).toMatch(/\$108\.00\s+\$1\.80\s+\$109\.80\s+\$109\.80/);
    await section(page, 'Days that stand out')
      .getByText('$109.80, where that weekday comes to $9.00')
      .waitFor();
    expect(complaints).toEqual([]);
  });

  it('sets a budget that holds, shows what is spent of it, changes and deletes it', async () => {
    const { page } = await fleet.open(at);
    const budgets = section(page, 'Budgets');
    await budgets.getByRole('button', { name: 'Set a budget' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a budget' });
    await dialog.getByLabel('Limit of a month in USD').fill('12.345');
    await dialog.getByRole('button', { name: 'Set' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Limit of a month in USD').fill('500');
    await dialog.getByLabel('Project').selectOption({ label: 'shop' });
    await dialog.getByLabel('Refuse new runs and builds').check();
    await dialog.getByRole('button', { name: 'Set' }).click();
    await dialog.waitFor({ state: 'detached' });
    await budgets.getByText('$237.60 of $500.00, 47.5 %', { exact: false }).waitFor();
    await budgets.getByRole('button', { name: 'Change the budget: Project shop' }).click();
    const change = page.getByRole('dialog', { name: 'Change the budget: Project shop' });
    await change.getByLabel('Limit of a month in USD').fill('100');
    await change.getByRole('button', { name: 'Set' }).click();
    await budgets.getByText('exceeded, new work is refused', { exact: false }).waitFor();
    await budgets.getByRole('button', { name: 'Delete the budget: Project shop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await budgets.getByText('There is no budget').waitFor();

    const id = await fleet.environment('staging');
    await budgets.getByRole('button', { name: 'Set a budget' }).click();
    await dialog.getByLabel('Project').selectOption({ label: 'shop' });
    await dialog.getByLabel('Environment').selectOption({ label: 'staging' });
    await dialog.getByLabel('Limit of a month in USD').fill('5');
    await dialog.getByRole('button', { name: 'Set' }).click();
    await budgets.getByText('$0.00 of $5.00', { exact: false }).waitFor();
    const { budgets: made } = await fleet.ok<{ budgets: object[] }>(`GET /teams/${fleet.teamId}/budgets`);
    expect(made).toMatchObject([{ environmentId: id, monthlyLimit: 5 }]);
  });

  it('shows costs to a viewer, and nothing of credit, statements and plans', async () => {
    const viewer = await fleet.join('viewer');
    const { page } = await fleet.open(at, viewer);
    await page.locator('section.month').getByText('$271.80', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Set a budget' }).count()).toBe(0);
    for (const name of ['Credit', 'Statements', 'Plan']) expect(await section(page, name).count()).toBe(0);
  });

  it.each(VIEWS)('can be used by everybody at %s', async (_name, options) => {
    const { page } = await fleet.open(at, fleet.owner, options);
    await section(page, 'By day').getByText('The same as a table').click();
    await section(page, 'Plan').waitFor();
    await passes(page, 'costs');
    await page.getByRole('button', { name: 'Set a budget' }).click();
    await passes(page, 'dialog of a budget');
  });
});

describe.skipIf(!(await isConsoleHere()))('the page of costs where payments are made', () => {
  let stripe: TestStripe;
  let console_: OwnConsole;
  let fleet: Fleet;
  beforeAll(async () => {
    stripe = await startStripe({});
    stripe.addPrice({ unitAmount: 2_900, lookupKey: 'svc_team_usd_v1' });
    console_ = await startConsole({
      STRIPE_SECRET_KEY: stripe.key,
      STRIPE_WEBHOOK_SECRETS: 'whsec_of_the_console',
      STRIPE_API_BASE: stripe.url,
    });
    stripe.webhooks.endpoint = {
      url: `${console_.server.baseUrl}/billing/webhooks/stripe`,
      secrets: ['whsec_of_the_console'],
    };
    fleet = await startFleet(console_);
  });
  afterAll(async () => {
    await console_?.stop();
    await stripe?.stop();
  });

  it('sells credit and plans, and shows them once they are paid', async () => {
    const { page } = await fleet.open(`/console/costs?team=${fleet.teamId}`);
    await page.route('**/c/pay/**', async (route) => await route.fulfill({ body: 'paying' }));
    const credit = section(page, 'Credit');
    await credit.getByText('$0.00').waitFor();
    await credit.getByRole('button', { name: 'Buy credit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Buy credit for builders' });
    await dialog.getByLabel('Amount in USD').fill('50');
    await passes(page, 'dialog of credit');
    await dialog.getByRole('button', { name: 'Go to the payment' }).click();
    await page.getByText('paying').waitFor();
    const [row] = await console_.server.db.sql<
      Array<{ id: string }>
    >`select session_id as id from billing_checkouts`;
    stripe.pay(row?.id ?? '');
    await stripe.delivered();
    await page.goto(`/console/costs?team=${fleet.teamId}`);
    await credit.getByRole('row', { name: /Bought .* \$50\.00 \$50\.00/ }).waitFor();

    await section(page, 'Plan').getByRole('button', { name: 'Change to Team' }).click();
    await page
      .getByRole('dialog', { name: 'Change to Team?' })
      .getByRole('button', { name: 'Go to the payment' })
      .click();
    await page.getByText('paying').waitFor();
  });

  it('lists statements with their invoices', async () => {
    const { sql } = console_.server.db;
    await sql`
      insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, invoice_id, invoice_url, closed_at)
      values (${newId('stm')}, ${fleet.teamId}, ${fleet.owner.userId}, '2026-02-01', 'usd', 'team', 900, 300, 600, 100, 500, 'paid', 'in_1', 'https://invoice.stripe.com/i/1', now())`;
    const { page } = await fleet.open(`/console/costs?team=${fleet.teamId}`);
    const row = section(page, 'Statements').getByRole('row', { name: /February 2026/ });
    await row.waitFor();
    expect((await row.innerText()).split(/\s+/).filter((word) => word.startsWith('$'))).toEqual([
      '$9.00',
      '$3.00',
      '$1.00',
      '$5.00',
    ]);
    expect(await row.getByRole('link').getAttribute('href')).toBe('https://invoice.stripe.com/i/1');
    await passes(page, 'costs with statements');
  });
});
