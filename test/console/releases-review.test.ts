/**
 * Dialogs show before a promotion is approved or rejected what changes, what policies say, and where the
 * focus goes.
 */
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, sharedConsole, VIEWS, type Console } from './console.ts';
import { cellOf, IMAGE, reviewOf, startDelivery, waitingOf, type Delivery } from './delivery.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

/** More than a page has places for the focus. */
const TABS_MAX = 60;

describe.skipIf(!(await isConsoleHere()))('the review of a promotion', () => {
  let console_: Console;
  let delivery: Delivery;
  beforeAll(async () => {
    console_ = await sharedConsole();
    delivery = await startDelivery(console_);
  });

  /** Makes a project where 1.0.0 runs and 2.0.0 is asked for. */
  const asked = async ({ before = {}, after = {} } = {}, more: object = {}) => {
    const { sdk, project, image, release, environment } = delivery;
    const { id: projectId, path } = await project();
    const production = await environment(projectId, 'production', more);
    const first = await release(projectId, '1.0.0', await image(projectId, before));
    const { id } = await sdk.promotions.create(production, first);
    await sdk.promotions.approve(production, id);
    await sdk.promotions.complete(production, id, { status: 'deployed' });
    const second = await release(projectId, '2.0.0', await image(projectId, after));
    const promotion = await sdk.promotions.create(production, second);
    return { path, production, promotionId: promotion.id };
  };
  /** Makes a project that the platform would deploy itself. */
  const deployed = async () => {
    const { sdk, project, image, release, environment } = delivery;
    const { id: projectId, path } = await project();
    const repository = 'https://git.example.com/acme/web';
    const production = await environment(projectId, 'production', {
      repository,
      deploy: { kind: 'container' },
    });
    await sdk.promotions.create(production, await release(projectId, '1.0.0', await image(projectId)));
    return { path, production };
  };
  const focused = async (of: Locator): Promise<boolean> =>
    await of.evaluate((each) => each.matches(':focus'));
  const tabTo = async (page: Page, to: Locator): Promise<void> => {
    for (let presses = 0; presses < TABS_MAX && !(await focused(to)); presses += 1)
      await page.keyboard.press('Tab');
    expect(await focused(to)).toBe(true);
  };
  const reviewed = (page: Page): Locator => page.getByRole('dialog', { name: 'Review 2.0.0 for production' });
  const closed = async (page: Page): Promise<void> =>
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  const queue = (page: Page): Locator => page.getByRole('region', { name: 'What waits' });

  it('shows what changes before it approves, by the keyboard alone', async () => {
    const evil = '<img src=x onerror=boom()>';
    const { path } = await asked({
      before: { openssl: '3.0.13', left: '1' },
      after: { openssl: '3.0.15', [evil]: '2' },
    });
    const { page, complaints } = await delivery.fleet.open(path);
    const button = reviewOf(page, '2.0.0', 'production');
    await button.waitFor();
    await tabTo(page, button);
    await page.keyboard.press('Enter');
    const dialog = reviewed(page);
    await dialog.getByText('Yours is the last approval that it needs.').waitFor();
    expect(await focused(dialog.getByRole('heading', { name: 'Review' }))).toBe(true);
    await seen(dialog.locator('.facts > div'), /^Runs now1\.0\.0, .*since/);
    await seen(dialog.locator('.facts > div'), /^Brings2\.0\.0/);
    await seen(dialog.locator('.facts > div'), 'by you');
    await dialog.getByText('Artifacts: 1 changed').waitFor();
    await dialog.getByText('Packages: 1 added, 1 removed, 1 changed').waitFor();
    expect(
      (await dialog.locator('.difference').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')),
    ).toEqual([
      expect.stringMatching(new RegExp(`^~ changed: ${IMAGE} image .* → to `)),
      `+ added: ${evil} generic 2`,
      '− removed: left generic 1',
      '~ changed: openssl generic 3.0.13 → to 3.0.15',
    ]);
    expect(await page.locator('img').count()).toBe(0);

    await page.keyboard.press('Escape');
    await closed(page);
    expect(await focused(button)).toBe(true);
    await page.keyboard.press('Enter');
    await dialog.getByText('What changes').waitFor();
    await tabTo(page, dialog.getByRole('button', { name: 'Approve' }));
    await page.keyboard.press('Enter');
    await closed(page);
    await seen(page.getByRole('status'), '2.0.0 is approved for production.');
    await seen(cellOf(page, '2.0.0', 'production'), 'Approved');
    expect(await button.count()).toBe(0);
    expect(await focused(queue(page))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('rejects with a reason, and goes back to the review without one', async () => {
    const { path, production, promotionId } = await asked();
    const { page } = await delivery.fleet.open(path);
    const button = reviewOf(page, '2.0.0', 'production');
    await button.click();
    await reviewed(page).getByRole('button', { name: 'Reject…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reject 2.0.0 for production?' });
    const why = dialog.getByLabel('Why');
    expect(await focused(why)).toBe(true);
    await dialog.getByRole('button', { name: 'Reject' }).click();
    await seen(dialog.getByRole('alert'), 'A reason is missing.');
    await page.keyboard.press('Escape');
    await reviewed(page).getByText('What changes').waitFor();
    expect(await focused(reviewed(page).getByRole('heading', { name: 'Review' }))).toBe(true);
    await page.keyboard.press('Escape');
    await closed(page);
    expect(await focused(button)).toBe(true);

    await page.keyboard.press('Enter');
    await tabTo(page, reviewed(page).getByRole('button', { name: 'Reject…' }));
    await page.keyboard.press('Enter');
    await why.waitFor();
    await page.keyboard.type(' not on a Friday ');
    await tabTo(page, dialog.getByRole('button', { name: 'Reject' }));
    await page.keyboard.press('Enter');
    await closed(page);
    await seen(cellOf(page, '2.0.0', 'production'), 'not on a Friday');
    expect(await focused(queue(page))).toBe(true);
    expect(await delivery.sdk.promotions.get(production, promotionId)).toMatchObject({
      state: 'rejected',
      rejection: 'rejected',
      reason: 'not on a Friday',
    });
  });

  it('lets an owner override what policies refuse, and nobody else', async () => {
    const { sdk, fleet, refuse } = delivery;
    const { path, production, promotionId } = await asked();
    await refuse(production, 'provenance first');
    const admin = await fleet.join('admin');
    const other = await fleet.open(path, admin);
    await reviewOf(other.page, '2.0.0', 'production').click();
    await reviewed(other.page)
      .getByText('Policies refuse it.provenance first: every image needs provenance')
      .waitFor();
    const blocked = reviewed(other.page).getByRole('button', { name: 'Approve' });
    expect(await blocked.getAttribute('aria-disabled')).toBe('true');
    expect(await other.page.getByRole('checkbox').count()).toBe(0);
    await other.close();

    const { page } = await fleet.open(path);
    const asks: string[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && asks.push(request.url())));
    await reviewOf(page, '2.0.0', 'production').click();
    const dialog = reviewed(page);
    await dialog.getByText('Policies refuse it.').waitFor();
    await dialog.getByRole('button', { name: 'Approve' }).focus();
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Override the policies').check();
    await dialog.getByLabel('Why it cannot wait').fill(' urgent ');
    await dialog.getByRole('button', { name: 'Override and approve' }).click();
    await seen(dialog.getByRole('alert'), 'has 6 characters; it needs at least 8');
    expect(asks).toEqual([]);
    await dialog.getByLabel('Why it cannot wait').fill('the fix cannot wait');
    await dialog.getByRole('button', { name: 'Override and approve' }).click();
    await closed(page);
    expect(await sdk.promotions.get(production, promotionId)).toMatchObject({
      state: 'approved',
      overrideReason: 'the fix cannot wait',
    });
  });

  it('offers no override where a policy does not allow it, and none before the last approval', async () => {
    const { fleet, refuse } = delivery;
    const { path, production } = await asked();
    await refuse(production, 'firm', { overridable: false });
    const { page } = await fleet.open(path);
    await reviewOf(page, '2.0.0', 'production').click();
    await reviewed(page).getByText('It cannot be overridden: firm does not allow that.').waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await page.keyboard.press('Escape');

    const two = await asked({}, { requiredApprovals: 1 });
    await refuse(two.production, 'later');
    await delivery.sdk.environments.update(two.production, { requiredApprovals: 2 });
    await page.goto(two.path);
    await reviewOf(page, '2.0.0', 'production').click();
    await reviewed(page).getByText('It needs 1 approval more after yours.').waitFor();
    await reviewed(page).getByText('Policies would refuse the last approval.').waitFor();
    await reviewed(page).getByRole('button', { name: 'Approve' }).click();
    await closed(page);
    // It waits for another one, and whoever has approved may still reject it.
    expect(await focused(reviewOf(page, '2.0.0', 'production'))).toBe(true);
    await seen(waitingOf(page, 'production'), 'You have approved it.');
  });

  it('says in words why an approval is refused that was allowed when it was shown', async () => {
    const { sdk, fleet, refuse } = delivery;
    const strict = await asked();
    const { page } = await fleet.open(strict.path);
    await reviewOf(page, '2.0.0', 'production').click();
    const dialog = reviewed(page);
    await dialog.getByText('What changes').waitFor();
    await refuse(strict.production, 'sudden');
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await seen(dialog.getByRole('alert'), 'Policies refuse it. Sudden: every image needs provenance.');
    await dialog.getByLabel('Override the policies').waitFor();
    await page.keyboard.press('Escape');
    await closed(page);

    // The deploy that an approval makes is asked about as well.
    const deploys = await deployed();
    await page.goto(deploys.path);
    await reviewOf(page, '1.0.0', 'production').click();
    const first = page.getByRole('dialog', { name: 'Review 1.0.0 for production' });
    await first.getByText('What changes').waitFor();
    await refuse(deploys.production, 'no deploys', { on: ['deploy'] });
    await first.getByRole('button', { name: 'Approve' }).click();
    await seen(first.getByRole('alert'), 'No deploys: every image needs provenance.');
    await first.getByLabel('Override the policies').check();
    await first.getByLabel('Why it cannot wait').fill('the fix cannot wait');
    await first.getByRole('button', { name: 'Override and approve' }).click();
    await closed(page);
    await seen(cellOf(page, '1.0.0', 'production'), 'Approved');

    const late = await asked();
    await page.goto(late.path);
    await reviewOf(page, '2.0.0', 'production').click();
    await dialog.getByText('What changes').waitFor();
    await sdk.promotions.reject(late.production, late.promotionId, { reason: 'not on a Friday' });
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await seen(dialog.getByRole('alert'), /rejected/);
    await dialog.getByText('It does not wait for approvals any more.', { exact: true }).waitFor();
    expect(await dialog.getByRole('button', { name: 'Reject…' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await closed(page);
    expect(await focused(queue(page))).toBe(true);
  });

  it('shows approvals that count no longer, and approves nothing that has changed since it was shown', async () => {
    const { sdk, fleet } = delivery;
    const { path, production, promotionId } = await asked();
    await sdk.environments.update(production, { requiredApprovals: 3 });
    await sdk.promotions.approve(production, promotionId);
    await sdk.environments.update(production, { branch: 'next' });
    const { page } = await fleet.open(path);
    await reviewOf(page, '2.0.0', 'production').click();
    const dialog = reviewed(page);
    await dialog.getByText(/^The approval by you: environment.branch: main → next$/).waitFor();
    await sdk.environments.update(production, { branch: 'other' });
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await seen(dialog.getByRole('alert'), /is not what was seen/);
    await dialog.getByText(/^The approval by you: environment.branch: main → other$/).waitFor();
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await closed(page);
    expect((await sdk.promotions.get(production, promotionId)).missingApprovals).toBe(2);
  });

  it('approves nothing whose changes it could not show, and shows them to who cannot approve', async () => {
    const { fleet } = delivery;
    const { path } = await asked();
    const developer = await fleet.join('developer');
    const { page } = await fleet.open(path, developer);
    await page.route('**/preview', async (route) => await route.abort());
    await reviewOf(page, '2.0.0', 'production').click();
    const dialog = reviewed(page);
    await seen(dialog.getByRole('alert'), 'What it changes could not be read.');
    expect(await dialog.getByRole('button', { name: 'Approve' }).getAttribute('aria-disabled')).toBe('true');
    await page.unroute('**/preview');
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByText('Artifacts: 1 changed').waitFor();
    await dialog.getByText('An admin of the team approves it.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Approve' }).getAttribute('aria-disabled')).toBe('true');
    expect(await dialog.getByRole('button', { name: 'Reject…' }).count()).toBe(0);
  });

  it.each(VIEWS)('is for everybody to use, at %s', async (name, options) => {
    const { fleet, refuse } = delivery;
    const packages = (version: string) =>
      Object.fromEntries(
        Array.from({ length: 130 }, (_, n) => [`package-${n}-${'long'.repeat(20)}`, version]),
      );
    const { path, production } = await asked({ before: packages('1.0.0'), after: packages('2.0.0') });
    await refuse(production, `provenance-first-${name}-${'long-'.repeat(5)}`);
    const { page, complaints } = await fleet.open(path, fleet.owner, options);
    await reviewOf(page, '2.0.0', 'production').waitFor();
    await passes(page, 'matrix and queue');
    await reviewOf(page, '2.0.0', 'production').click();
    const dialog = reviewed(page);
    await dialog.getByText('Packages: 130 changed').waitFor();
    await dialog.getByText('94 more').click();
    await dialog.getByText('and 30 more that are not listed').waitFor();
    await dialog.getByLabel('Override the policies').check();
    await passes(page, 'review');
    // The buttons stay in view, whatever is read, and what has the focus is not behind them.
    const boxOf = async (each: Locator) => (await each.boundingBox()) ?? { y: 0, height: 0 };
    await dialog.getByRole('heading', { name: 'Review' }).scrollIntoViewIfNeeded();
    const approve = await boxOf(dialog.getByRole('button', { name: 'Override and approve' }));
    expect(approve.y + approve.height).toBeLessThan(options.viewport.height);
    await tabTo(page, dialog.getByLabel('Why it cannot wait'));
    const reason = await boxOf(dialog.getByLabel('Why it cannot wait'));
    expect(reason.y + reason.height).toBeLessThanOrEqual((await boxOf(dialog.locator('.modal-foot'))).y);
    await dialog.getByRole('button', { name: 'Reject…' }).click();
    await page.getByRole('dialog', { name: 'Reject 2.0.0' }).waitFor();
    await passes(page, 'rejection');
    expect(complaints).toEqual([]);
  });
});
