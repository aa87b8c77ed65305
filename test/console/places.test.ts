/** This is the story of somebody who sets up an app, from its project to its target of deploys. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, sharedConsole, VIEWS, type Console } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { press, pressInDialog } from './press.ts';
import { startReporting } from './reports.ts';
import { seen } from './seen.ts';

const LONG = 'Ünïcödé 名前 '.padEnd(100, '長');
const REQUESTS_MAX = 12;

describe.skipIf(!(await isConsoleHere()))('the pages of projects and environments', () => {
  let console_: Console;
  let fleet: Fleet;
  beforeAll(async () => {
    console_ = await sharedConsole();
    fleet = await startFleet(console_, 'places');
  });

  const commands = async (page: Page): Promise<string[]> =>
    await page.locator('.build-steps code').allInnerTexts();

  it('lead from a new project to variables, build steps and a target of deploys', async () => {
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/projects`);
    await press(page, 'Create project');
    await page.getByLabel('Name').fill('Till');
    await pressInDialog(page, 'Create project');
    await page.getByRole('heading', { name: 'Till', level: 1 }).waitFor();
    await seen(page.locator('.empty'), 'No environment yet');
    await press(page, 'Create environment');
    await page.getByLabel('Name', { exact: true }).fill('production');
    await pressInDialog(page, 'Create environment');
    await page.getByRole('heading', { name: 'production', level: 1 }).waitFor();
    const tabs = page.getByRole('navigation', { name: 'Pages of production' });
    const titles = await tabs.getByRole('link').allInnerTexts();
    expect(titles.slice(0, 5)).toEqual(['Overview', 'Builds', 'Timeline', 'Variables', 'Build steps']);
    expect(titles).toEqual(expect.arrayContaining(['Promotions', 'Settings']));

    await tabs.getByRole('link', { name: 'Variables' }).click();
    await press(page, 'Paste a .env');
    const text = page.getByLabel('Text', { exact: true });
    await text.fill('A=1\nnonsense\n');
    await seen(page.locator('.preview'), 'Line 2: It has no "=": nonsense');
    const buffer = Buffer.from(
      Array.from({ length: 501 }, (_each, at) => `V${at}=${'x'.repeat(2_000)}\n`).join(''),
    );
    await page.getByLabel('Or a file').setInputFiles({ name: '.env', mimeType: 'text/plain', buffer });
    await seen(page.locator('.preview'), 'Line 501: At most 500 variables at a time, got 501');
    await text.fill('# of the till\nexport A=1\nGREETING="two\\nlines"\n');
    await seen(page.locator('.preview'), '2 new, 0 replaced, 0 stay.');
    await pressInDialog(page, 'Set 2 variables');
    await seen(page.getByRole('row', { name: /GREETING/ }), /two\s+lines.*Plain/s);

    await press(page, 'Edit A');
    await page.getByLabel('Value').fill('2');
    await page.getByText('Secret: stored encrypted').click();
    await pressInDialog(page, 'Save');
    await seen(page.getByRole('row', { name: /Edit A/ }), /Hidden.*Secret/s);
    await press(page, 'Delete A');
    await pressInDialog(page, 'Delete');
    await page.getByRole('row', { name: /Edit A/ }).waitFor({ state: 'detached' });

    await tabs.getByRole('link', { name: 'Build steps' }).click();
    for (const command of ['npm test', 'npm ci']) {
      await press(page, 'Add build step');
      await page.getByLabel('Command', { exact: true }).fill(command);
      await pressInDialog(page, 'Add build step');
      await seen(page.locator('.build-steps'), command);
    }
    await press(page, 'Move step 2 up');
    await expect.poll(async () => await commands(page)).toEqual(['npm ci', 'npm test']);
    await press(page, 'Delete step 2');
    await pressInDialog(page, 'Delete');
    await expect.poll(async () => await commands(page)).toEqual(['npm ci']);

    await tabs.getByRole('link', { name: 'Settings' }).click();
    await press(page, 'Update environment');
    const deploy = page.getByRole('group', { name: 'Deploy', exact: true });
    await deploy.getByLabel('Kind').selectOption('container');
    await deploy.getByLabel('App').fill('till');
    await pressInDialog(page, 'Update environment');
    await tabs.getByRole('link', { name: 'Overview' }).click();
    await seen(page.locator('.place-facts'), 'container till');
    expect(complaints).toEqual([]);
  });

  it('say on the card of an environment how its CI stands', async () => {
    const report = await startReporting(console_, fleet);
    const ciConnectionId = await fleet.connect('github');
    const staging = await fleet.environment('staging');
    await fleet.environment('next');
    const shown = { ciConnectionId, environmentId: staging };
    await report({ ...shown, pipelineName: 'nightly', status: 'success' });
    const run = await report({ ...shown, pipelineName: 'tests', status: 'failed' });
    const { page, complaints } = await fleet.open(`/console/projects/${fleet.projectId}`);
    const card = (name: string) =>
      page.locator('.card', { has: page.getByRole('link', { name, exact: true }) });
    await seen(card('staging'), /CI\s*tests\s*Failed/);
    await seen(card('next'), /CI\s*None lately/);
    await passes(page, 'cards with CI');
    await card('staging').getByRole('link', { name: 'tests' }).click();
    await page.waitForURL(`**/ci/runs/${run}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(complaints).toEqual([]);
  });

  it.each(VIEWS)('are sound with long names, in few requests, at %s', async (view, options) => {
    const project = await fleet.ok<{ id: string }>('POST /projects', { name: LONG, teamId: fleet.teamId });
    const environments = [`${'a'.repeat(63)}`, 'production'].map(
      async (name) =>
        await fleet.ok<{ id: string }>(`POST /projects/${project.id}/environments`, {
          name,
          branch: 'b'.repeat(200),
          repository: 'https://git.example.com/acme/shop',
        }),
    );
    const [{ id } = { id: '' }] = await Promise.all(environments);
    await fleet.ok(`POST /environments/${id}/variables`, {
      name: 'N'.repeat(200),
      value: '長い値'.repeat(100),
    });
    await fleet.ok(`POST /environments/${id}/build-steps`, { command: '長'.repeat(300) });
    await fleet.ok(`POST /environments/${id}/builds`, { commit: 'c'.repeat(40) });
    const { page } = await fleet.open(`/console/teams/${fleet.teamId}/projects`, fleet.owner, options);
    const base = `/console/projects/${project.id}`;
    const pages: ReadonlyArray<readonly [string, string]> = [
      [`/console/teams/${fleet.teamId}/projects`, '.rows'],
      [base, '.cards'],
      [`${base}/${id}`, '.place-facts'],
      [`${base}/${id}/variables`, '.rows'],
      [`${base}/${id}/build-steps`, '.build-steps'],
    ];
    let requests = 0;
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch') requests += 1;
    });
    for (const [at, what] of pages) {
      requests = 0;
      await page.goto(at);
      await page.locator(what).first().waitFor();
      expect(requests, at).toBeLessThanOrEqual(REQUESTS_MAX);
      await passes(page, `${at}, ${view}`);
    }
    await press(page, 'Add build step');
    await passes(page, `a new step, ${view}`);
  });
});
