/** Pages that nobody wrote: what they reach, how they are worked, and that all of them hold their bounds. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { entries, servicePages } from '../../server/console/gen/index.ts';
import type { CallSpec } from '../../server/console/spec.ts';
import { DESKTOP, isConsoleHere, PHONE, sharedConsole, type Tab } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { hasContrast, passes } from './passes.ts';
import { press, pressInDialog } from './press.ts';
import { seen } from './seen.ts';

/** A window of one width sees some seventy pages. */
const SWEEP_MS = 180_000;

/** RPCs that no person calls by hand in the console, by why not. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'runners call it': [
    'runner.buildLogs',
    'runner.buildPoll',
    'runner.buildReport',
    'runner.enroll',
    'runner.heartbeat',
    'runner.hostLogs',
    'runner.logs',
    'runner.logsOfMany',
    'runner.poll',
    'runner.report',
    'runner.reportsOfMany',
    'runner.syncHost',
  ],
  'CI systems call it': ['ci.receiveWebhook'],
};

async function allCalls(): Promise<readonly CallSpec[]> {
  const collections = await Promise.all(entries.map(async ({ load }) => await load()));
  const pages = await Promise.all(servicePages.map(async ({ load }) => await load()));
  return [
    ...collections.flatMap(({ list, get, acts, itemActs }) => [
      list,
      ...(get ? [get] : []),
      ...acts,
      ...itemActs,
    ]),
    ...pages.flatMap(({ acts }) => acts),
  ];
}

describe('the modules of the console', () => {
  it('have every RPC that people call', async () => {
    const contract = JSON.parse(
      readFileSync(new URL('../../proto/gen/openapi.json', import.meta.url), 'utf8'),
    ) as {
      paths: Record<string, Record<string, { operationId?: string }>>;
    };
    const operations = Object.values(contract.paths).flatMap((verbs) =>
      Object.values(verbs).flatMap(({ operationId }) => operationId ?? []),
    );
    const known = new Set((await allCalls()).map(({ id }) => id));
    const elsewhere = Object.values(ELSEWHERE).flat();
    expect(operations.length).toBeGreaterThan(200);
    expect(operations.filter((id) => !known.has(id) && !elsewhere.includes(id))).toEqual([]);
    expect(elsewhere.filter((id) => known.has(id) || !operations.includes(id))).toEqual([]);
  });

  it('name each part below the item that it is a part of', () => {
    const keys = entries.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { parent } of entries) if (parent !== undefined) expect(keys).toContain(parent);
  });
});

/** Leads to another page as a link does. */
async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  await page.locator('main h1').first().waitFor();
  await expect.poll(() => page.evaluate('document.querySelectorAll("main [aria-busy=true]").length')).toBe(0);
}

describe.skipIf(!(await isConsoleHere()))('a page from the contract', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet(await sharedConsole(), `team ${'w'.repeat(90)}`);
  });

  it('offers what belongs to a feature of which the installation says nothing', async () => {
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/registries`);
    await press(page, 'Add registry');
    await page.getByLabel('Host').fill('registry.example.com');
    await pressInDialog(page, 'Add registry');
    await page.getByRole('heading', { name: 'registry.example.com', level: 1 }).waitFor();
    await press(page, 'Remove registry');
    await page.getByLabel(/^Type/).fill('registry.example.com');
    await pressInDialog(page, 'Remove registry');
    await seen(page.locator('.empty'), 'Nothing here yet');
    await page.goto('/console/account/teams');
    await press(page, 'Accept invite');
    await page.getByRole('dialog').getByLabel('Token').waitFor();
    expect(complaints).toEqual([]);
  });

  it('makes, changes, shows once and takes away', async () => {
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/webhook-endpoints`);
    await seen(page.locator('.empty'), 'Nothing here yet: no webhook endpoint.');
    await page.getByRole('button', { name: 'Create webhook endpoint' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create webhook endpoint' }).click();
    await seen(page.getByRole('dialog').getByRole('alert').first(), 'This is needed.');
    await page.getByLabel('URL').fill('ftp://example.com');
    await page.getByLabel(/^Events/).fill('run.finished');
    await page.getByRole('dialog').getByRole('button', { name: 'Create webhook endpoint' }).click();
    // The server refuses it, and says so at the field.
    await expect.poll(() => page.getByLabel('URL').getAttribute('aria-invalid')).toBe('true');
    await passes(page, 'dialog with a refusal');
    await page.getByLabel('URL').fill('https://example.com/hook');
    await page.getByLabel(/^Events/).fill('nothing.known');
    await page.getByRole('dialog').getByRole('button', { name: 'Create webhook endpoint' }).click();
    await seen(page.getByRole('dialog').getByRole('alert').first(), /nothing\.known/);
    const { events } = await fleet
      .ok<{ events?: string[] }>('GET /openapi.json')
      .catch(() => ({ events: undefined }));
    await page.getByLabel(/^Events/).fill(events?.[0] ?? 'build.finished');
    await page.getByRole('dialog').getByRole('button', { name: 'Create webhook endpoint' }).click();
    await page.getByText('This is shown once.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('This is shown once.').waitFor();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.waitForURL('**/webhook-endpoints/*');
    await page.getByRole('button', { name: 'Delete webhook endpoint' }).click();
    await page.getByLabel(/^Type/).fill('https://example.com/hook');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete webhook endpoint' }).click();
    await page.waitForURL('**/webhook-endpoints');
    await seen(page.locator('.empty'), 'Nothing here yet');
    expect(complaints).toEqual([]);
  });

  it('goes anywhere by the keyboard, to pages and to things by their names', async () => {
    const { page } = await fleet.open(`/console/teams/${fleet.teamId}`);
    await page.getByRole('heading', { name: 'Get started' }).waitFor();
    await page.keyboard.press('Control+k');
    const field = page.getByLabel('Page, or name or id of a thing');
    await field.fill('trusted k');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/trusted-keys');
    await page.keyboard.press('Control+k');
    await field.fill('shop');
    await page.getByRole('dialog').getByRole('link', { name: 'shop project' }).waitFor();
    await passes(page, 'palette');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/projects/${fleet.projectId}`);
    await page.getByRole('heading', { name: 'shop' }).waitFor();
  });

  it('goes through pages by their numbers, and offers repositories where one is named', async () => {
    for (let at = 100; at < 160; at += 1)
      await fleet.ok(`POST /teams/${fleet.teamId}/ci/connections`, {
        provider: 'github',
        repositoryHost: 'github.com',
        repositoryPath: `acme/r${at}`,
      });
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/repositories`);
    await page.getByRole('heading', { name: 'Repositories' }).waitFor();
    await seen(page.locator('table'), 'github.com/acme/r100');
    await page.getByRole('button', { name: 'Load older' }).scrollIntoViewIfNeeded();
    await page.keyboard.press('End');
    await seen(page.locator('table'), 'github.com/acme/r159');
    expect(await page.getByRole('button', { name: 'Load older' }).count()).toBe(0);
    await page.getByLabel('Search').fill('R15');
    await page.keyboard.press('Enter');
    await page.waitForURL('**f.q=R15**');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(10);
    await passes(page, 'repositories');

    await go(page, `/console/projects/${fleet.projectId}/environments`);
    await page.getByRole('button', { name: 'Create environment' }).click();
    await page.getByText(/more fields/).click();
    const offered = page.locator('datalist option[value="https://github.com/acme/r100"]');
    await expect.poll(() => offered.count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('types the name of what is taken away for good', async () => {
    const { page } = await fleet.open(`/console/teams/${fleet.teamId}/projects`);
    const made = await fleet.ok<{ id: string }>('POST /projects', {
      name: 'gone soon',
      teamId: fleet.teamId,
    });
    await page.goto(`/console/projects/${made.id}/settings`);
    await page.getByRole('button', { name: 'Delete project' }).click();
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Delete project' });
    await expect.poll(() => confirm.getAttribute('aria-disabled')).toBe('true');
    await page.getByLabel('Type gone soon to go on').fill('gone soon');
    await confirm.click();
    await page.waitForURL('**/projects');
    const { projects } = await fleet.ok<{ projects: Array<{ id: string }> }>('GET /projects');
    expect(projects.map(({ id }) => id)).not.toContain(made.id);
  });

  it.each([
    ['1280 px, light', { viewport: DESKTOP, colorScheme: 'light' }, passes],
    ['1280 px, dark', { viewport: DESKTOP, colorScheme: 'dark' }, hasContrast],
    ['390 px, light', { viewport: PHONE, colorScheme: 'light' }, hasContrast],
    ['390 px, dark', { viewport: PHONE, colorScheme: 'dark' }, passes],
  ] as const)(
    'holds its bounds with long names, wherever it is, at %s',
    async (_name, options, holds) => {
      const project = await fleet.ok<{ id: string }>('POST /projects', {
        name: 'W'.repeat(100),
        teamId: fleet.teamId,
      });
      const { id } = await fleet.ok<{ id: string }>(`POST /projects/${project.id}/environments`, {
        name: 'e'.repeat(40),
      });
      await fleet.ok(`POST /environments/${id}/variables`, { name: 'V'.repeat(100), value: 'v'.repeat(200) });
      await fleet.ok(`POST /teams/${fleet.teamId}/sandbox-runs`, { command: ['c'.repeat(200)] });
      const bases = {
        team: `/console/teams/${fleet.teamId}`,
        project: `/console/projects/${project.id}`,
        environment: `/console/projects/${project.id}/${id}`,
        account: '/console/account',
        staff: '/console/staff',
      };
      const addressesAt = (places: ReadonlyArray<keyof typeof bases>): readonly string[] => [
        ...entries
          .filter(
            ({ parent, segments, at }) =>
              parent === undefined && places.includes(at) && !segments.some((each) => each.startsWith('{')),
          )
          .map(({ at, segments }) => `${bases[at]}/${segments.join('/')}`),
        ...servicePages
          .filter(({ at }) => places.includes(at))
          .map(({ key, at }) => `${bases[at]}/${key.replace(`${at}-page-`, '')}`),
        ...places.map((at) => bases[at]),
      ];
      const settings = [bases.team, bases.project, bases.environment].map((base) => `${base}/settings`);
      const own = await fleet.open(bases.account, undefined, options);
      await sweep(own, [...addressesAt(['team', 'project', 'environment', 'account']), ...settings], holds);
      const { first } = (await sharedConsole()).server;
      const staff = { email: first.staffEmail, password: first.staffPassword };
      await sweep(
        await (await sharedConsole()).openAs(bases.staff, staff, options),
        addressesAt(['staff']),
        holds,
      );
    },
    SWEEP_MS,
  );
});

/** Goes over all pages. What is not about colours needs no second look at the same width. */
async function sweep(
  { page, complaints }: Tab,
  addresses: readonly string[],
  holds: typeof passes,
): Promise<void> {
  let requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  for (const path of addresses) {
    requests = [];
    await go(page, path);
    expect({
      path,
      requests: requests.filter((url) => !url.includes('/console/assets/')).slice(12),
    }).toEqual({ path, requests: [] });
    await holds(page, path);
  }
  expect(complaints).toEqual([]);
}
