/**
 * These are the stories of staff's table of platform features: what it shows, how a switch is moved, and what
 * happens when two people do it at once.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { waitFor } from '../setup/wait-for.ts';
import { isConsoleHere, PHONE, startConsole, type OwnConsole } from './console.ts';
import { startFleet } from './fleet.ts';
import { startReporting } from './reports.ts';
import { live, seen } from './seen.ts';

describe.skipIf(!(await isConsoleHere()))('the table of features', () => {
  let console_: OwnConsole;
  beforeAll(async () => {
    console_ = await startConsole();
  });
  afterAll(async () => await console_.stop());

  const switchOf = (page: Page, key: string) => page.getByRole('switch', { name: key, exact: true });
  const rowOf = (page: Page, key: string) => page.getByRole('row').filter({ has: switchOf(page, key) });
  const checked = async (page: Page, key: string): Promise<string | null> =>
    await switchOf(page, key).getAttribute('aria-checked');
  const onServer = async (key: string): Promise<Record<string, unknown>> =>
    (
      await console_.server.call(`GET /admin/platform-features/${key}`, {
        as: console_.server.first.staffApiKey,
      })
    ).body;
  /** The switch is there and shows the position. */
  const shows = async (page: Page, key: string, on: boolean): Promise<void> =>
    await page.locator(`[role=switch][aria-labelledby="key-${key}"][aria-checked=${String(on)}]`).waitFor();
  const focused = async (page: Page): Promise<unknown> =>
    await page.evaluate(
      'document.activeElement.getAttribute("aria-labelledby") ?? document.activeElement.getAttribute("aria-label") ?? document.activeElement.id',
    );
  /** The focus moves a moment after what it moves to is there. */
  const focusedOn = async (page: Page, wanted: string): Promise<void> => {
    let last: unknown;
    await waitFor(
      () => `the focus on ${wanted}, it is on ${String(last)}`,
      async () => (last = await focused(page)) === wanted || undefined,
    );
  };

  it('moves a switch when the server has said so, with a reason', async () => {
    const { page, complaints } = await console_.openAsStaff('/console/features');
    await switchOf(page, 'host.spaces').click();
    const dialog = page.getByRole('dialog', { name: 'Turn off host.spaces?' });
    await dialog.locator('.affected').waitFor();
    await expect
      .poll(() => dialog.locator('.affected li').allTextContents())
      .toEqual(['host.spaceson →to off']);

    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await seen(dialog.getByRole('alert'), 'Say why');
    const reason = dialog.getByLabel('Reason');
    await expect.poll(() => reason.getAttribute('aria-invalid')).toBe('true');
    await focusedOn(page, 'reason');
    await reason.fill('x'.repeat(501));
    await dialog.getByText('501/500').waitFor();
    await seen(dialog.getByRole('alert'), 'At most 500 characters');
    await reason.fill('  search is slow, see INC-12  ');

    // Held back, so that the moment before the answer can be seen.
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route('**/admin/platform-features/host.spaces', async (route) => {
      await held;
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await dialog.getByRole('button', { name: 'Waiting for the server…' }).waitFor();
    await expect.poll(() => checked(page, 'host.spaces')).toBe('true');
    letGo();
    await seen(page.getByRole('status'), 'host.spaces is turned off.');
    await expect.poll(() => checked(page, 'host.spaces')).toBe('false');
    await focusedOn(page, 'key-host.spaces');

    const { state, lastChange } = (await onServer('host.spaces')) as {
      state: string;
      lastChange: Record<string, unknown>;
    };
    expect(state).toBe('disabled');
    expect(lastChange).toMatchObject({ reason: 'search is slow, see INC-12', source: 'console' });
    await rowOf(page, 'host.spaces').getByText('search is slow, see INC-12').waitFor();
    expect(complaints).toEqual([]);
  });

  it('says what blocks a feature, leads there, and lets it be turned off all the same', async () => {
    await console_.move('host.automation.maintenance', 'enabled', 'for the pilot repositories');
    const { page } = await console_.openAsStaff('/console/features?blocked=1');
    const blocked = switchOf(page, 'host.automation.maintenance');
    await blocked.waitFor();
    await expect.poll(() => page.getByRole('switch').count()).toBe(1);
    expect([await blocked.isDisabled(), await blocked.getAttribute('aria-checked')]).toEqual([true, 'true']);
    const why = await blocked.getAttribute('aria-describedby');
    await expect.poll(() => page.locator(`[id="${why}"]`).textContent()).toBe('Blocked by host.job_runner');
    await blocked.focus();
    await page.keyboard.press('Space');
    await seen(page.getByRole('status'), 'moving its switch changes nothing now');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);

    // Its blocker is not blocked, so the filter hides it: the link brings it back.
    await page.locator('.state').getByRole('link', { name: 'host.job_runner' }).click();
    await switchOf(page, 'host.job_runner').waitFor();
    await page.waitForFunction('document.activeElement.id === "row-host.job_runner"');

    await page.getByRole('button', { name: 'Turn off anyway: host.automation.maintenance' }).click();
    const dialog = page.getByRole('dialog', { name: 'Turn off host.automation.maintenance?' });
    await dialog.getByText('blocked', { exact: true }).waitFor();
    await dialog.getByLabel('Reason').fill('must not come back by itself');
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await shows(page, 'host.automation.maintenance', false);
  });

  it('names the variable that holds a switch', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    const locked = switchOf(page, 'host.job_runner');
    await locked.waitFor();
    await expect.poll(() => locked.isDisabled()).toBe(true);
    const why = await locked.getAttribute('aria-describedby');
    await expect
      .poll(() => page.locator(`[id="${why}"]`).textContent())
      .toContain('Locked: JOB_RUNNER_ENABLED decides');
    await locked.click({ force: true });
    await seen(page.getByRole('status'), 'JOB_RUNNER_ENABLED');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  it('keeps the text when somebody else was faster, shows the row anew, and goes on from there', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    // Without live updates, so that only the server's refusal can tell.
    await page.route('**/admin/platform-features/events', async (route) => await route.abort());
    await page.reload();
    await switchOf(page, 'host.incidents').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('incidents are ready for everybody');
    await dialog.locator('.affected').waitFor();
    await console_.move('host.incidents', 'enabled', 'invited the first customers');
    await console_.move('host.incidents', 'disabled', 'mitigation runs twice');
    await dialog.getByRole('button', { name: 'Turn on' }).click();
    const notice = dialog
      .getByRole('alert')
      .filter({ hasText: 'host.incidents was changed in the meantime.' });
    await notice.waitFor();
    await expect.poll(() => notice.textContent()).toContain('ada@svc.local turned it off');
    await expect.poll(() => notice.textContent()).toContain('mitigation runs twice');
    await expect
      .poll(() => dialog.getByLabel('Reason').inputValue())
      .toBe('incidents are ready for everybody');
    await rowOf(page, 'host.incidents').getByText('mitigation runs twice').waitFor({ state: 'attached' });
    expect((await onServer('host.incidents'))['state']).toBe('disabled');

    await dialog.locator('.affected').waitFor();
    await dialog.getByRole('button', { name: 'Turn on' }).click();
    await shows(page, 'host.incidents', true);
    expect((await onServer('host.incidents'))['revision']).toBe(3);

    // And when the other one did the very same, there is nothing left to do.
    await switchOf(page, 'host.incidents').click();
    await dialog.getByLabel('Reason').fill('off again for the night');
    await dialog.locator('.affected').waitFor();
    await console_.move('host.incidents', 'disabled', 'off for the night');
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await dialog.getByText('It is off now, so there is nothing left to do.').waitFor();
    await expect.poll(() => dialog.getByRole('button', { name: 'Turn off' }).isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await shows(page, 'host.incidents', false);
  });

  it('moves a switch once when the answer was lost', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    await switchOf(page, 'host.graph').click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('.affected').waitFor();
    await dialog.getByLabel('Reason').fill('edges of deleted environments');
    // The server hears it, the page does not hear the server.
    let lost = 0;
    await page.route('**/admin/platform-features/host.graph', async (route) => {
      if (lost < 3) {
        lost += 1;
        await route.fetch();
        await route.abort();
      } else await route.continue();
    });
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await seen(dialog.getByRole('alert'), 'Trying again is safe');
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await shows(page, 'host.graph', false);
    expect(lost).toBe(3);
    expect((await onServer('host.graph'))['revision']).toBe(1);
  });

  it('tells another tab at once, once, and marks the row', async () => {
    const { page, another } = await console_.openAsStaff('/console/features');
    const second = await another('/console/features');
    await live(second);
    await switchOf(page, 'host.ci').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('webhook storm, see INC-41');
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await seen(page.getByRole('status'), 'host.ci is turned off.');
    await seen(second.getByRole('status'), 'staff@svc.local turned off host.ci.');
    await shows(second, 'host.ci', false);
    await expect.poll(() => rowOf(second, 'host.ci').getAttribute('class')).toContain('fresh');
    await expect.poll(() => rowOf(second, 'host.spaces').getAttribute('class')).not.toContain('fresh');
    // Whoever did it is told of the result alone, not of the news about it.
    await console_.move('host.ci', 'enabled', 'the storm is over');
    await seen(page.getByRole('status'), 'ada@svc.local turned on host.ci.');
  });

  it('says so in an open dialog when its switch is moved meanwhile', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    await live(page);
    const wasOn = (await checked(page, 'host.runners')) === 'true';
    await switchOf(page, 'host.runners').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('drained before the upgrade');
    await console_.move('host.runners', wasOn ? 'disabled' : 'enabled', 'drained for the upgrade');
    const notice = dialog.getByRole('alert').filter({ hasText: 'host.runners was changed in the meantime.' });
    await seen(notice, 'drained for the upgrade');
    await seen(notice, 'there is nothing left to do');
    // Moved back, the decision makes sense again, from where the switch is now.
    await console_.move('host.runners', wasOn ? 'enabled' : 'disabled', 'not today after all');
    await seen(notice, 'Your text is kept.');
    await expect.poll(() => dialog.getByLabel('Reason').inputValue()).toBe('drained before the upgrade');
    await dialog.locator('.affected').waitFor();
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await shows(page, 'host.runners', !wasOn);
    await console_.move('host.runners', 'enabled', 'the upgrade is done');
  });

  it('shows the last good table and since when it is unknown, and recovers by itself', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    await live(page);
    await page.route('**/admin/platform-features**', async (route) => await route.abort());
    await page.reload();
    // Nothing good was ever read by this page: no table, and no empty one either.
    await page.getByText('The features could not be read.').waitFor();
    await expect.poll(() => page.getByRole('table', { name: /^Platform features/ }).count()).toBe(0);
    // The click is in vain as long as nothing answers; after that the page may be faster than the hand.
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByText('The features could not be read.').waitFor();
    await page.unroute('**/admin/platform-features**');
    await live(page);
    const on = (await checked(page, 'host.spaces')) === 'true';

    await page.route('**/admin/platform-features**', async (route) => await route.abort());
    await console_.move('host.spaces', on ? 'disabled' : 'enabled', 'a change that the page misses');
    await page
      .getByText(/Unknown since (?:\d+ \w+, )?\d\d:\d\d\./)
      .first()
      .waitFor();
    await expect.poll(() => page.getByRole('switch').count()).toBe(MANIFEST.length);
    await expect.poll(() => checked(page, 'host.spaces')).toBe(String(on));
    await page.unroute('**/admin/platform-features**');
    await shows(page, 'host.spaces', !on);
    await page.getByText(/Unknown since/).waitFor({ state: 'detached' });
  });

  it('tells the history of a switch, page by page, at an address of its own', async () => {
    for (let n = 1; n <= 24; n += 1)
      await console_.move(
        'host.compliance.residency_chain',
        n % 2 === 1 ? 'enabled' : 'disabled',
        `change number ${n}`,
      );
    const { page } = await console_.openAsStaff('/console/features?history=host.compliance.residency_chain');
    const drawer = page.getByRole('dialog', { name: 'History of host.compliance.residency_chain' });
    await drawer.getByText('change number 24', { exact: true }).waitFor();
    const texts = async (): Promise<string[]> => await drawer.locator('.change-text').allTextContents();
    await expect.poll(() => texts()).toHaveLength(20);
    await drawer.getByRole('button', { name: 'Load older' }).click();
    await drawer.getByText('change number 1', { exact: true }).waitFor();
    await expect
      .poll(() => texts())
      .toEqual(Array.from({ length: 24 }, (_, index) => `change number ${24 - index}`));
    await expect.poll(() => drawer.getByRole('button', { name: 'Load older' }).count()).toBe(0);
    const first = drawer.getByRole('listitem').first();
    await expect.poll(() => first.locator('.change-move').textContent()).toBe('on →to off');
    await expect.poll(() => first.textContent()).toContain('ada@svc.local, in the console');
    await expect.poll(() => first.locator('time').getAttribute('datetime')).toMatch(/^\d{4}-\d\d-\d\dT/);

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await drawer.getByRole('button', { name: 'Copy link' }).click();
    await seen(drawer.getByRole('status'), 'Copied');
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(page.url());

    // A change by somebody else comes to the top of the open drawer.
    await console_.move('host.compliance.residency_chain', 'enabled', 'change number 25');
    await drawer.getByText('change number 25', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await expect.poll(() => new URL(page.url()).search).toBe('');
    await page.getByRole('link', { name: 'History of host.compliance.residency_chain' }).click();
    await drawer.waitFor();
    await page.goBack();
    await drawer.waitFor({ state: 'detached' });
  });

  it('filters by words and by state, and keeps that in the address', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    await switchOf(page, 'host.ci').waitFor();
    await page.getByRole('searchbox').fill('customer runners');
    await seen(page.getByRole('status'), '1 of 8 shown');
    await expect.poll(() => page.getByRole('switch').count()).toBe(1);
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('customer runners');
    await page.reload();
    await switchOf(page, 'host.runners').waitFor();
    await expect.poll(() => page.getByRole('switch').count()).toBe(1);
    await page.getByRole('searchbox').fill('nothing has this word');
    await page.getByText('None of the 8 features matches.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByRole('button', { name: 'Changed in 7 days' }).click();
    await switchOf(page, 'host.job_runner').waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('switch').count()).toBeGreaterThan(0);
    await expect.poll(() => new URL(page.url()).search).toBe('?recent=1');
  });

  it('can be worked with the keyboard alone, on a phone too', async () => {
    const { page } = await console_.openAsStaff('/console/features', { viewport: PHONE });
    await switchOf(page, 'host.spaces').waitFor();
    await page.reload();
    await switchOf(page, 'host.spaces').waitFor();
    await page.keyboard.press('Tab');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.waitForFunction('document.activeElement.id === "main"');
    const tabTo = async (wanted: string): Promise<void> => {
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press('Tab');
        if ((await focused(page)) === wanted) return;
      }
      throw new Error(`${wanted} is not reached by Tab; the focus is at ${String(await focused(page))}`);
    };
    await tabTo('key-host.spaces');
    const before = await checked(page, 'host.spaces');
    await page.keyboard.press('Space');
    await page.waitForFunction('document.activeElement.id === "reason"');
    await page.keyboard.press('Escape');
    await page.waitForFunction(
      'document.activeElement.getAttribute("aria-labelledby") === "key-host.spaces"',
    );
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').locator('.affected').waitFor();
    await page.keyboard.type('moved without a mouse');
    await page.keyboard.press('Control+Enter');
    await shows(page, 'host.spaces', before !== 'true');
    await focusedOn(page, 'key-host.spaces');
    await tabTo('History of host.spaces');
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog', { name: 'History of host.spaces' });
    await drawer.getByText('moved without a mouse').waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await focusedOn(page, 'History of host.spaces');
  });

  it('takes what external CI did from the timeline while Connect is switched off', async () => {
    const fleet = await startFleet(console_);
    const environmentId = await fleet.environment('private');
    const ciConnectionId = await fleet.connect('github');
    const commitSha = 'a'.repeat(40);
    await (
      await startReporting(console_, fleet)
    )({ ciConnectionId, branch: 'main', environmentId, pipelineName: 'secret', commitSha });
    const viewer = await fleet.join('viewer');
    const { page } = await fleet.open(`/console/timeline?env=${environmentId}`, viewer);
    const row = page.locator('tr.row').filter({ has: page.getByRole('rowheader', { name: 'secret' }) });
    await row.waitFor();
    // Without external CI it shows builds alone.
    await console_.move('host.ci', 'disabled', 'to see what the page says');
    await expect.poll(() => row.count()).toBe(0);
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  });
});
