/**
 * These are the keys of the console: the list of them, rows of lists, filters, and that they leave fields
 * alone.
 */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, sharedConsole } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

const focusedOn = async (page: Page, text: string): Promise<void> =>
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe(text);

/** Whoever goes by keys sees where they are. */
const hasRing = async (page: Page): Promise<void> =>
  await expect
    .poll(() => page.evaluate('getComputedStyle(document.activeElement).outlineStyle'))
    .not.toBe('none');

describe.skipIf(!(await isConsoleHere()))('keys', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet(await sharedConsole(), 'typists');
    for (const name of ['first', 'second']) await fleet.runner(name);
  });

  it('are listed at "?" and at the foot of the sidebar, and do nothing where somebody types', async () => {
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/sandbox-runs`);
    const list = page.getByRole('dialog', { name: 'Help and keys' });
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.keyboard.press('?');
    await list.getByText('Show this list').waitFor();
    await passes(page, 'keys');
    // Nothing happens behind a dialog.
    await page.keyboard.press('/');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Close');
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Help and keys' }).click();
    await list.getByRole('button', { name: 'Close' }).click();
    await list.waitFor({ state: 'detached' });

    await page.keyboard.press('Control+k');
    const field = page.getByLabel('Page, or name or id of a thing');
    await field.pressSequentially('j?/');
    await expect.poll(() => field.inputValue()).toBe('j?/');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('go through the rows of lists, open one, and go to the filters', async () => {
    const webhook = { url: 'https://example.com/hook', events: ['run.finished'] };
    for (const description of ['one', 'two'])
      await fleet.ok(`POST /teams/${fleet.teamId}/webhook-endpoints`, { ...webhook, description });
    const { page } = await fleet.open(`/console/teams/${fleet.teamId}/webhook-endpoints`);
    const rows = page.locator('.row-link');
    await rows.nth(1).waitFor();
    const [first = '', second = ''] = await rows.allTextContents();
    await page.keyboard.press('j');
    await focusedOn(page, first);
    await hasRing(page);
    await page.keyboard.press('j');
    await focusedOn(page, second);
    // There is no row behind the last one.
    await page.keyboard.press('j');
    await focusedOn(page, second);
    await page.keyboard.press('k');
    await focusedOn(page, first);
    await page.keyboard.press('ArrowDown');
    await focusedOn(page, second);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/webhook-endpoints/whe_*');

    await page.goto(`/console/teams/${fleet.teamId}/promotions`);
    const filter = page.getByRole('search', { name: 'Filters' }).locator('input, select').first();
    await filter.waitFor();
    await page.keyboard.press('/');
    await expect.poll(() => filter.evaluate((field) => field.matches(':focus'))).toBe(true);
  });

  it('go through the rows of a table that is made by hand', async () => {
    const { page } = await fleet.open(`/console/teams/${fleet.teamId}/runners`);
    await seen(page.getByRole('row'), 'second');
    await page.keyboard.press('j');
    await focusedOn(page, 'first');
    await page.keyboard.press('j');
    await focusedOn(page, 'second');
    await hasRing(page);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'second' }).waitFor();
  });
});
