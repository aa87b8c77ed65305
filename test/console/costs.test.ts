/**
 * These are the stories of the page of costs: the month, its days, what stands out, budgets, and for who may
 * pay credit, statements and plans.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedDays } from '../../server/money/costs/testing/days.ts';
import { startStripe, type TestStripe } from '../setup/stripe/index.ts';
import { DAY, dayOf, HOUR, seedBill, twentieth, type Bill } from './bill.ts';
import { newId } from '../../server/base/ids.ts';
import { isConsoleHere, PHONE, startConsole, VIEWS, type OwnConsole } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

const MONTH_OF = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Tells whether the colour of each name is in the drawing. */
const drawnColours = async (page: Page): Promise<unknown> =>
  await page.evaluate(`(() => {
    const element = document.querySelector('[aria-labelledby="days-title"]');
    const canvas = element.querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const drawn = new Set();
    for (let n = 0; n < data.length; n += 4) drawn.add('rgb(' + data.slice(n, n + 3).join(', ') + ')');
    return [...element.querySelectorAll('.chart-names .chart-swatch')].map((each) => drawn.has(getComputedStyle(each).color));
  })()`);

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

describe.skipIf(!(await isConsoleHere()))('the page of costs', () => {
  const now = twentieth();
  let console_: OwnConsole;
  let fleet: Fleet;
  let bill: Bill;
  let at: string;
  beforeAll(async () => {
    console_ = await startConsole({}, Date.now() - now.getTime());
    fleet = await startFleet(console_);
    bill = await seedBill(console_, fleet, now);
    at = `/console/costs?team=${fleet.teamId}`;
  });
  afterAll(async () => await console_?.stop());

  it('says what the month costs, day by day, in a drawing and in a table with the same figures', async () => {
    const { page, complaints } = await fleet.open(at);
    await page.getByRole('link', { name: 'Costs', exact: true }).waitFor();
    // 19 days of 25 hours, and 280 hours more on one of them, at 0.36 an hour.
    const month = page.locator('section.month');
    await seen(month.locator('.month-net'), '$271.80');
    await month.getByText('Forecast for the month', { exact: false }).first().waitFor();
    const course = month.getByRole('slider', { name: 'Net costs of the month, added up' });
    await course.press('End');
    expect(await course.getAttribute('aria-valuetext')).toMatch(/, Forecast \$\d+\.\d\d$/);
    const days = section(page, 'By day');
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

  it('shows what is at a day for who points at it or goes there by keys', async () => {
    const { page, complaints } = await fleet.open(at);
    const days = section(page, 'By day');
    const plot = days.getByRole('slider', { name: 'List price by day and project' });
    const tip = days.locator('.chart-tip');
    await plot.press('Home');
    expect(await plot.getAttribute('aria-valuetext')).toMatch(/ 1 \w+, shop \$7\.20, No project \$1\.80$/);
    await plot.press('ArrowRight');
    await seen(tip, /2 \w+shop\$7\.20No project\$1\.80All\$9\.00/);
    await plot.press('Escape');
    await tip.waitFor({ state: 'detached' });
    const box = await plot.boundingBox();
    if (box === null) throw new Error('the chart has no place');
    await page.mouse.move(box.x + box.width - 20, box.y + box.height / 2);
    await seen(tip, 'Nothing');
    await page.mouse.move(box.x + box.width / 2, box.y - 40);
    await tip.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  it('draws each project in the colour of its name, which stays when ranks change', async () => {
    const own = await startFleet(console_, 'of two projects');
    const other = await own.ok<{ id: string }>('POST /projects', { name: 'mail', teamId: own.teamId });
    const { sql } = console_.server.db;
    const spend = async (projectId: string, hours: number) =>
      await seedDays(sql, [
        {
          teamId: own.teamId,
          day: dayOf(now.getTime() - DAY),
          projectId,
          ms: hours * HOUR,
          environmentId: '',
        },
      ]);
    await sql`
      insert into cost_names (team_id, id, name) values (${own.teamId}, ${own.projectId}, 'shop'), (${own.teamId}, ${other.id}, 'mail')
      on conflict do nothing`;
    await spend(own.projectId, 20);
    await spend(other.id, 10);
    const { page, close } = await own.open(`/console/teams/${own.teamId}/costs`);
    const names = section(page, 'By day').locator('.chart-names li');
    const colours = async () => {
      await names.nth(1).waitFor();
      const swatches = section(page, 'By day').locator('.chart-names .chart-swatch');
      const classes = await Promise.all([0, 1].map(async (n) => await swatches.nth(n).getAttribute('class')));
      return (await names.allInnerTexts()).map((name, n) => [name.trim(), classes[n]]);
    };
    const before = await colours();
    expect(before.map(([name]) => name)).toEqual(['shop', 'mail']);
    await expect.poll(async () => await drawnColours(page)).toEqual([true, true]);
    await spend(other.id, 30);
    await page.reload();
    const after = await colours();
    expect(after).toEqual(before.toReversed());
    await expect.poll(async () => await drawnColours(page)).toEqual([true, true]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(async () => await drawnColours(page)).toEqual([true, true]);
    await close();
    await sql`update cost_names set name = ${'W'.repeat(200)} where team_id = ${own.teamId}`;
    const phone = await own.open(`/console/teams/${own.teamId}/costs`, own.owner, { viewport: PHONE });
    const days = section(phone.page, 'By day');
    await days.getByRole('slider').press('ArrowRight');
    await days.getByRole('slider').press('ArrowLeft');
    await days.locator('.chart-tip-name').nth(1).waitFor();
    await passes(phone.page, 'chart of long names');
  });

  it('leads from a statement to a day, to a run of it, and to its receipt', async () => {
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/statements`);
    await page
      .getByRole('link', { name: MONTH_OF.format(now), exact: true })
      .last()
      .click();
    await page.getByRole('heading', { name: MONTH_OF.format(now) }).waitFor();
    await seen(section(page, 'Statement'), '$271.80 due');
    await seen(section(page, 'Lines of the statement'), 'Sandbox runs on runners of the team');
    await section(page, 'By day').getByText('The same as a table').click();
    await section(page, 'By day')
      .getByRole('link', { name: ` 18 ${MONTH_OF.format(now).split(' ')[0]}` })
      .click();
    await seen(section(page, 'Sums'), '$9.00');
    const items = section(page, 'Runs and builds');
    await seen(
      items.getByRole('row').nth(1),
      /Sandbox runs on runners of the teamshop \/ production2 min\$0\.0091/,
    );
    await items.getByRole('link').first().click();
    await page.getByText('0.009050000000 USD', { exact: true }).waitFor();
    await page.getByText('90,500 ms × 100,000 billionths of USD a second = 0.009050000000 USD').waitFor();
    await page.getByText('Adds up', { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(
      `/console/teams/${fleet.teamId}/statements/${bill.statementId}/${dayOf(now.getTime() - 2 * DAY)}/${bill.runId}`,
    );
    await page.getByRole('navigation', { name: 'Pages above' }).getByRole('link').nth(2).click();
    await items.waitFor();
    // The day before has more of them than are shown.
    await page.goto(
      `/console/teams/${fleet.teamId}/statements/${bill.statementId}/${dayOf(now.getTime() - 3 * DAY)}`,
    );
    await items.getByText('These are the first 200.').waitFor();
    expect(await items.getByRole('table').getAttribute('aria-rowcount')).toBe('201');
    for (const wrong of ['/stm_none', '/2026-13', `/${bill.statementId}/2026-02-30`, `/2026-02/2026-03-01`]) {
      await page.goto(`/console/teams/${fleet.teamId}/statements${wrong}`);
      await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    }
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
    await seen(page.locator('.month-net'), '$271.80');
    expect(await page.getByRole('button', { name: 'Set a budget' }).count()).toBe(0);
    for (const name of ['Credit', 'Statements', 'Plan']) expect(await section(page, name).count()).toBe(0);
    await section(page, 'By day').getByText('The same as a table').click();
    await section(page, 'By day').getByRole('row').last().getByRole('link').click();
    await seen(section(page, 'Runs and builds'), 'They are shown to admins and owners of the team.');
    await page.getByRole('link', { name: MONTH_OF.format(now) }).click();
    await page.getByText('Its statement is shown to admins and owners').waitFor();
  });

  it.each(VIEWS)('can be used by everybody at %s', async (_name, options) => {
    const { page } = await fleet.open(at, fleet.owner, options);
    await section(page, 'By day').getByText('The same as a table').click();
    await section(page, 'Plan').waitFor();
    const plot = section(page, 'By day').getByRole('slider');
    await plot.press('Home');
    await passes(page, 'costs');
    await page.getByRole('button', { name: 'Set a budget' }).click();
    await passes(page, 'dialog of a budget');
    const below = `/console/teams/${fleet.teamId}/statements`;
    for (const [view, title] of [
      [`${below}/${bill.statementId}`, 'By project'],
      [`${below}/${bill.statementId}/${dayOf(now.getTime() - 2 * DAY)}`, 'Runs and builds'],
      [`${below}/${bill.statementId}/${dayOf(now.getTime() - 2 * DAY)}/${bill.runId}`, 'Cost'],
    ] as const) {
      await page.goto(view);
      await section(page, title).waitFor();
      await passes(page, view);
    }
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
    expect(await row.getByRole('link', { name: 'Paid' }).getAttribute('href')).toBe(
      'https://invoice.stripe.com/i/1',
    );
    await passes(page, 'costs with statements');
  });
});
