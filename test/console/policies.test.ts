/** These are the stories of the pages of policies: from a text with a mistake to what it decides. */
import { createSvcSDK, type Simulation, type SvcSDK } from '@svc/sdk';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, sharedConsole, VIEWS } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

const MAIN = { id: 'main', message: 'builds are made of main', require: "build.branch == 'main'" };
const textWith = (require: string): string =>
  `on: [build.create]\nrules:\n  - id: main\n    message: builds are made of main\n    require: ${require}`;

/** A thousand gates, of which each one would be refused. */
const simulation = (): Simulation => ({
  replayed: 1_000,
  newlyDenied: 1_000,
  newlyAllowed: 0,
  unchanged: 0,
  errors: 0,
  truncated: true,
  oldestAt: '2026-11-20T12:00:00Z',
  results: Array.from({ length: 1_000 }, (_, n) => ({
    gateId: `pgt_${n}`,
    action: 'build.create',
    subject: `bld_${'x'.repeat(200)}`,
    at: '2026-11-20T12:00:00Z',
    now: 'deny',
    failed: Array.from({ length: 50 }, (_each, rule) => `rule-${rule}`),
    newlyDenied: true,
  })),
});

describe.skipIf(!(await isConsoleHere()))('policies', () => {
  let fleet: Fleet;
  let sdk: SvcSDK;
  let side: string;
  const at = (...rest: readonly string[]): string => ['/console/teams', fleet.teamId, ...rest].join('/');
  const policy = async (name: string, more: object = {}): Promise<string> => {
    const document = { on: ['build.create'], rules: [MAIN] };
    return (await sdk.policies.create(fleet.teamId, { name, document, ...more })).id;
  };
  const area = (page: Page) => page.getByRole('textbox', { name: 'Document' });
  const checked = async (page: Page): Promise<void> =>
    await seen(page.getByRole('status'), 'No problem found.');

  beforeAll(async () => {
    const console_ = await sharedConsole();
    fleet = await startFleet(console_);
    sdk = createSvcSDK({ baseUrl: console_.server.baseUrl, token: fleet.owner.token, maxRetries: 0 });
    const main = await fleet.environment('production');
    side = await fleet.environment('side', { branch: 'side' });
    for (const environment of [main, side, main, side]) await sdk.builds.create(environment);
  });

  it('are written with a mistake, mended at its line, simulated, saved, enabled, and decide', async () => {
    const { page, complaints } = await fleet.open(at('policies'));
    await seen(page.locator('.empty'), 'No policy yet');
    await passes(page, 'no policy');
    await page.getByRole('link', { name: 'Create policy' }).click();
    await page.getByLabel('Name').fill('main only');
    await area(page).fill(textWith("build.brnch == 'main'"));
    const problem = page.getByRole('button', { name: /^Line 5/ });
    await seen(problem, 'did you mean "branch"?');
    await seen(page.locator('.policy-line-wrong'), '5');
    await passes(page, 'a mistake');
    await problem.click();
    // The word itself is selected, so that typing replaces it.
    await page.keyboard.type('branch');
    await checked(page);
    await page.getByRole('button', { name: 'Create policy' }).click();
    await page.getByRole('heading', { name: 'main only' }).waitFor();
    await seen(page.locator('.policy-facts'), 'Disabled');

    await page.getByRole('button', { name: 'Simulate' }).click();
    await seen(page.getByRole('status'), '2 of 4 would newly be refused.');
    const results = page.getByRole('table', { name: 'What was judged again' }).getByRole('row');
    await seen(results.nth(1), /Not asked.*Deny.*Builds are made of main\./s);
    expect(await results.count()).toBe(3);
    await page.getByRole('button', { name: 'Also the 2 that stay as they were' }).click();
    await expect.poll(() => results.count()).toBe(5);
    await passes(page, 'simulation');

    await area(page).fill(textWith("build.branch in ['main', 'release']"));
    await seen(page.getByRole('status'), 'Unsaved changes');
    await seen(page.getByRole('status'), 'The text was changed since.');
    await page.getByRole('button', { name: 'Save document' }).click();
    await seen(page.locator('.policy-facts'), 'Revision 2');
    await page.getByRole('button', { name: 'Enable' }).click();
    await passes(page, 'enable');
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
    await seen(page.locator('.policy-facts'), 'Enabled');
    await expect(sdk.builds.create(side)).rejects.toMatchObject({ code: 'policy_denied' });
    await page.getByRole('link', { name: 'Decisions' }).click();
    const decided = page.getByRole('table', { name: 'Decisions' }).getByRole('row');
    await seen(decided, /Deny.*build\.create.*Builds are made of main\..*Act refused.*Revision 2/s);
    await passes(page, 'decisions');
    await page.getByRole('link', { name: 'History' }).click();
    const entries = page.getByRole('table', { name: 'Entries of the ledger' }).getByRole('row');
    await seen(entries, 'policy.document_updated');
    expect(await entries.count()).toBe(4);
    expect(complaints).toEqual([]);
  });

  it('keep what is not saved when the page is left, and Cancel drops it', async () => {
    const id = await policy('draft');
    const { page } = await fleet.open(at('policies', id));
    const saved = await area(page).inputValue();
    const draft = `${saved}\n# not saved`;
    await area(page).fill(draft);
    await page
      .getByRole('navigation', { name: 'Breadcrumbs' })
      .getByRole('link', { name: 'Policies' })
      .click();
    await page.getByRole('link', { name: 'draft' }).click();
    await expect.poll(() => area(page).inputValue()).toBe(draft);
    await page.reload();
    await expect.poll(() => area(page).inputValue()).toBe(draft);
    const documents = { on: ['build.create'], rules: [{ ...MAIN, require: 'true' }] };
    await sdk.policies.updateDocument(fleet.teamId, id, documents);
    await page.reload();
    await seen(page.getByRole('status'), 'Revision 2 was saved after this text was begun.');
    await passes(page, 'somebody else has saved');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => area(page).inputValue()).toContain('require: "true"');
    await page.reload();
    await checked(page);
    expect(await page.getByText('Unsaved changes').count()).toBe(0);

    await page.goto(at('policies', 'new'));
    await page.getByLabel('Project').selectOption({ label: 'shop' });
    await page.getByLabel('Environment').selectOption({ label: 'side' });
    expect(await isNameKeptAtOnce(page, 'never made')).toBe(true);
    await page.reload();
    await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('never made');
    await expect.poll(() => page.getByLabel('Environment').inputValue()).toBe(side);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL('**/policies');
    await page.goto(at('policies', 'new'));
    await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('');
    expect((await sdk.policies.list(fleet.teamId)).map(({ name }) => name)).not.toContain('never made');
  });

  it('are made, saved while in force, and switched off by the keyboard alone', async () => {
    const { page } = await fleet.open(at('policies', 'new'));
    await page.getByLabel('Name').focus();
    await page.keyboard.type('by keys');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    // Tab leads in and out of the text.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('policy-document');
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(textWith('tru'));
    await page.getByRole('button', { name: /^Line 5/ }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.type('"true"');
    await checked(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by keys' }).waitFor();
    await page.getByRole('button', { name: 'Enable' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Enter');
    await seen(page.locator('.policy-facts'), 'Enabled');
    await area(page).focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(`${textWith('"true"')}\nmode: warn`);
    await checked(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('dialog'), 'is in force at once');
    await page.keyboard.press('Enter');
    await seen(page.locator('.policy-facts'), 'Mode warn');
    await page.getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.press('Enter');
    // The focus is on Cancel, so that Enter destroys nothing.
    await page.keyboard.press('Enter');
    await seen(page.locator('.policy-facts'), 'Enabled');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await seen(page.locator('.policy-facts'), 'Disabled');
  });

  it('hold their bounds with a text and a result of any size', async () => {
    const id = await policy('large');
    const { page } = await fleet.open(at('policies', id));
    await checked(page);
    await area(page).fill('');
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', '\\n'.repeat(40_000));
      const paste = { clipboardData, bubbles: true, cancelable: true };
      document.getElementById('policy-document').dispatchEvent(new ClipboardEvent('paste', paste));
    }`);
    await seen(page.getByRole('button', { name: /^Line 1/ }), 'the document is empty');
    await page.evaluate('document.getElementById("policy-document").scrollTop = 400_000');
    await seen(page.locator('.policy-line').first(), /^20\d\d\d$|^19\d\d\d$/);
    expect(await page.locator('.policy-line').count()).toBeLessThan(80);
    await area(page).fill(`# ${'x'.repeat(70_000)}`);
    await seen(page.getByRole('button', { name: /^Line 1/ }), 'at most 65,536 bytes, got 70,002');
    const rules = Array.from(
      { length: 50 },
      (_, n) => `  - {id: r${n}, message: m, require: nothing.at.all}`,
    );
    await area(page).fill(['on: [deploy]', 'rules:', ...rules].join('\n'));
    await seen(page.getByRole('status'), '20 problems.');

    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.route('**/simulate', async (route) => await route.fulfill({ json: simulation() }));
    await page.getByRole('button', { name: 'Simulate' }).click();
    await seen(page.getByRole('status'), 'Time was up before all of them were judged.');
    const judged = page.getByRole('table', { name: 'What was judged again' });
    expect(await judged.getAttribute('aria-rowcount')).toBe('101');
    await page.getByRole('button', { name: 'Show 100 more' }).click();
    await expect.poll(() => judged.getAttribute('aria-rowcount')).toBe('201');
  });

  it('are read and tried, but not changed, by a viewer', async () => {
    const id = await policy('read only');
    const viewer = await fleet.join('viewer');
    const { page } = await fleet.open(at('policies'), viewer);
    await page.getByRole('link', { name: 'read only' }).waitFor();
    expect(await page.getByRole('link', { name: 'Create policy' }).count()).toBe(0);
    await page.goto(at('policies', id));
    await area(page).fill(textWith('"true"'));
    await page.getByRole('button', { name: 'Simulate' }).click();
    await seen(page.getByRole('status'), /^0 of \d+ would newly be refused\./);
    for (const name of ['Enable', 'Save document'])
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    await page.goto(at('policies', 'new'));
    await page.getByText('An admin of the team makes policies.').waitFor();
  });

  it.each(VIEWS)('fit their window with long names at %s', async (view, options) => {
    const name = `${view} ${'W'.repeat(80)}`;
    const message = 'm'.repeat(200);
    const id = await policy(name, {
      environmentId: side,
      document: { on: ['build.create'], rules: [{ id: 'r'.repeat(63), message, require: 'false' }] },
    });
    await sdk.policies.enable(fleet.teamId, id);
    await expect(sdk.builds.create(side)).rejects.toMatchObject({ code: 'policy_denied' });
    const { page, complaints } = await fleet.open(at('policies'), fleet.owner, options);
    await page.getByRole('link', { name, exact: true }).waitFor();
    await passes(page, `policies, ${view}`);
    await page.goto(at('policies', id));
    await checked(page);
    await page.getByRole('button', { name: 'Simulate' }).click();
    await page.getByRole('table', { name: 'What was judged again' }).waitFor();
    await area(page).fill(`${await area(page).inputValue()}\n${'x'.repeat(200)}: 1`);
    await seen(page.getByRole('list', { name: 'Problems' }), 'is unknown');
    await passes(page, `a policy, ${view}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.goto(at('policies', id, 'decisions'));
    await page.getByRole('table', { name: 'Decisions' }).waitFor();
    await passes(page, `decisions, ${view}`);
    await page.goto(at('policies', 'new'));
    await checked(page);
    await passes(page, `a new policy, ${view}`);
    expect(complaints).toEqual([]);
    await sdk.policies.disable(fleet.teamId, id);
  });
});

/** Types the name, and says whether it is kept before the browser draws or does anything else. */
async function isNameKeptAtOnce(page: Page, name: string): Promise<unknown> {
  return await page.evaluate(`(async (name) => {
    const input = document.getElementById('policy-name');
    input.value = name;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    return Object.values(sessionStorage).some((kept) => kept.includes(name));
  })(${JSON.stringify(name)})`);
}
