/**
 * These are the stories of the audit ledger, and of what else an audit asks for: packages of evidence,
 * trusted keys and identities.
 */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, sharedConsole, VIEWS, type Console } from './console.ts';
import { LOOK, startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

const rowsOf = (page: Page) => page.getByRole('table', { name: 'Entries of the ledger' }).getByRole('row');

/** Presses a button that has the browser keep a file, and returns its name and text. */
async function saved(page: Page, name: string): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name, exact: true }).click(),
  ]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

describe.skipIf(!(await isConsoleHere()))('the audit ledger', () => {
  let console_: Console;
  let fleet: Fleet;
  let sdk: SvcSDK;
  let projectId: string;
  const at = (...rest: readonly string[]): string => ['/console/teams', fleet.teamId, ...rest].join('/');

  beforeAll(async () => {
    console_ = await sharedConsole();
    fleet = await startFleet(console_);
    const { teamId, owner } = fleet;
    sdk = createSvcSDK({ baseUrl: console_.server.baseUrl, token: owner.token, maxRetries: 0 });
    projectId = (await sdk.projects.create({ name: 'W'.repeat(100), teamId })).id;
    await sdk.projects.delete(projectId);
  });

  it('is searched by what is in the address, and shows an entry with its hashes', async () => {
    const { page, complaints } = await fleet.open(at('audit'));
    await seen(rowsOf(page), 'team.created');
    await page.getByLabel('Action').fill('project.');
    await page.getByLabel('Action').press('Enter');
    await expect.poll(() => rowsOf(page).count()).toBe(4);
    expect(new URL(page.url()).searchParams.get('action')).toBe('project.');
    await page.getByLabel('Target').fill(projectId);
    await page.getByRole('button', { name: 'Search' }).click();
    await expect.poll(() => rowsOf(page).count()).toBe(3);
    await page.getByLabel('Until').fill('2020-01-01T00:00');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('No such entry.').waitFor();
    await page.goBack();
    await expect.poll(() => page.getByLabel('Until').inputValue()).toBe('');
    await rowsOf(page).nth(2).getByRole('link').click();
    const drawer = page.getByRole('dialog');
    await seen(drawer, /project\.created.*Previous hash/s);
    await passes(page, 'an entry');
    await page.reload();
    const title = await drawer.getByRole('heading').textContent();
    await drawer.getByRole('link', { name: 'The entry before' }).click();
    await expect.poll(() => drawer.getByRole('heading').textContent()).not.toBe(title);
    await drawer.getByRole('link', { name: 'All by this actor' }).click();
    await expect.poll(() => page.getByLabel('Actor ID').inputValue()).toMatch(/^user_/);
    await page.getByRole('button', { name: 'Clear' }).click();
    await seen(rowsOf(page), 'team.created');
    expect(complaints).toEqual([]);
  });

  it('is verified up to its last entry, also against an entry that somebody kept', async () => {
    const [last] = await sdk.audit.list(fleet.teamId, { limit: 1 });
    const { page } = await fleet.open(at('audit'));
    await page.getByRole('button', { name: 'Verify' }).click();
    await seen(page.getByRole('status'), `Intact up to entry ${last?.seq}.`);
    await page.getByText('Compare with an entry that you kept').click();
    await page.getByLabel('Place').fill(String(last?.seq));
    await page.getByRole('button', { name: 'Verify' }).click();
    await seen(page.getByRole('alert'), 'The hash has 64 hexadecimal digits.');
    await page.getByLabel('Hash', { exact: true }).fill(last?.hash ?? '');
    await page.getByRole('button', { name: 'Verify' }).click();
    await seen(page.getByRole('status'), `and the entry ${last?.seq} that you kept`);
    await page.getByLabel('Hash', { exact: true }).fill('0'.repeat(64));
    await page.getByRole('button', { name: 'Verify' }).click();
    await seen(page.getByRole('status'), 'The ledger is not intact.');
    await passes(page, 'not intact');
  });

  it('is saved whole, with its checkpoint at the end', async () => {
    const { page } = await fleet.open(at('audit'));
    const { name, text } = await saved(page, 'Export');
    expect(name).toBe(`audit-${fleet.teamId}.ndjson`);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { entry?: object; checkpoint?: { seq: number } });
    expect(lines.at(-1)?.checkpoint?.seq).toBe(lines.length - 1);
    expect(lines.slice(0, -1).every(({ entry }) => entry !== undefined)).toBe(true);
  });

  it('is searched in steps where it is long', async () => {
    const { id } = await sdk.teams.create('long ledger');
    await console_.server.asOwner(`
      insert into audit_entries (chain, seq, at, actor_kind, actor_id, actor_display, action, target, details, request_id, previous_hash, hash)
      select '${id}', n, 0, 'system', 'x', 'x', 'thing.moved', 'x', '{}', '', '', n from generate_series(2, 60500) n;
      update audit_heads set seq = 60500 where chain = '${id}'`);
    const { page } = await fleet.open(`/console/teams/${id}/audit?action=team.created`);
    await page.getByText('No such entry among the newest ones.').waitFor();
    await page.getByRole('button', { name: 'Load older' }).click();
    await seen(rowsOf(page), 'team.created');
    await page.getByRole('button', { name: 'Verify' }).click();
    await seen(page.getByRole('status'), /The ledger is not intact\..*Entry 2$/s);
  });

  it('is for admins and owners', async () => {
    const { page } = await fleet.open(at('audit'), await fleet.join('developer'));
    await page.getByText('This page needs the role admin.').waitFor();
  });

  it.each(VIEWS)('fits its window at %s', async (view, options) => {
    const { page, complaints } = await fleet.open(at('audit'), fleet.owner, options);
    await seen(rowsOf(page), 'team.created');
    await page.getByRole('button', { name: 'Verify' }).click();
    await seen(page.getByRole('status'), 'Intact up to entry');
    await page.getByText('Compare with an entry that you kept').click();
    await passes(page, `ledger, ${view}`);
    await rowsOf(page).nth(1).getByRole('link').click();
    await page.getByRole('dialog').getByText('Previous hash').waitFor();
    await passes(page, `entry, ${view}`);
    expect(complaints).toEqual([]);
  });

  it('has packages beside it, which are assembled, reviewed, exported and deleted', async () => {
    const { page } = await fleet.open(at('compliance', 'packages'));
    const today = new Date().toISOString().slice(0, 10);
    await page.getByRole('button', { name: 'Assemble compliance package' }).click();
    await page.getByLabel('Period start').fill(today);
    await page.getByLabel('Period end').fill(today);
    await page.getByRole('dialog').getByRole('button', { name: 'Assemble compliance package' }).click();
    await page.waitForURL('**/packages/cmp_*');
    await expect
      .poll(async () => {
        await page.evaluate(LOOK);
        return await page.locator('.fact-list').textContent();
      })
      .toContain('Assembled');
    await page.getByRole('button', { name: 'Mark legal reviewed' }).click();
    await page.getByLabel('Note').fill('read by counsel');
    await page.getByRole('dialog').getByRole('button', { name: 'Mark legal reviewed' }).click();
    await seen(page.locator('.fact-list'), 'read by counsel');
    await page.getByRole('link', { name: 'Export' }).click();
    await page.getByRole('combobox', { name: 'Part' }).selectOption('manifest');
    await page.getByRole('button', { name: 'Choose' }).click();
    expect((await saved(page, 'Download export')).text).toContain('MANIFEST.json');
    await passes(page, 'a package');
    await page.getByRole('button', { name: 'Delete compliance package' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete compliance package' }).click();
    await seen(page.locator('.empty'), 'no compliance package');
  });

  it('has trusted keys and identities beside it, which are added and removed', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    const fields = {
      key: {
        Name: 'scanner',
        'Public key': pem,
        'Predicate types': 'https://in-toto.io/attestation/vulns/v0.1',
      },
      identity: {
        Name: 'workflow',
        Issuer: 'https://token.actions.githubusercontent.com',
        Identity: 'https://github.com/acme/web/.github/workflows/scan.yml@*',
      },
    };
    const { page } = await fleet.open(at('trusted-keys'));
    for (const [what, values] of Object.entries(fields)) {
      const noun = `trusted ${what}`;
      await page.goto(at(what === 'key' ? 'trusted-keys' : 'trusted-identities'));
      await page.getByRole('button', { name: `Add ${noun}` }).click();
      await page.getByLabel('Name').fill(values.Name);
      await page
        .getByRole('dialog')
        .getByRole('button', { name: `Add ${noun}` })
        .click();
      await seen(page.getByRole('alert').first(), 'This is needed.');
      for (const [label, text] of Object.entries(values))
        await page.getByRole('textbox', { name: label }).fill(text);
      await passes(page, noun);
      await page
        .getByRole('dialog')
        .getByRole('button', { name: `Add ${noun}` })
        .click();
      await page.getByRole('heading', { name: values.Name }).waitFor();
      await passes(page, `a ${noun}`);
      await page.getByRole('button', { name: `Remove ${noun}` }).click();
      await page.getByLabel(`Type ${values.Name} to go on`).fill(values.Name);
      await page
        .getByRole('dialog')
        .getByRole('button', { name: `Remove ${noun}` })
        .click();
      await seen(page.locator('.empty'), `no ${noun}`);
    }
  });
});
