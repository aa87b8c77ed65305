/** axe, target sizes and widths over every view, in both colour schemes, at 1280 and 390 px. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, DESKTOP, PHONE, startConsole, type OwnConsole } from './console.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

describe.skipIf(!(await isConsoleHere()))('everybody can use the console', () => {
  let console_: OwnConsole;
  beforeAll(async () => {
    console_ = await startConsole({ COMPANION_URL: 'http://127.0.0.1:1' });
    await console_.move('host.automation.maintenance', 'enabled', 'blocked by the job runner from the start');
    await console_.move('host.ci', 'disabled', `a reason ${'without-any-place-to-break-'.repeat(12)}`);
  });
  afterAll(async () => await console_.stop());

  it.each([
    ['1280 px, light', DESKTOP, 'light'],
    ['390 px, dark', PHONE, 'dark'],
  ] as const)('at %s', async (_name, viewport, colorScheme) => {
    const options = { viewport, colorScheme };
    const out = await console_.open('/console/', options);
    await out.page.getByRole('button', { name: 'Sign in' }).waitFor();
    await passes(out.page, 'sign-in');
    await out.close();

    const { page } = await console_.openAsStaff('/console/features', options);
    await page.getByRole('switch', { name: 'host.ci' }).waitFor();
    // The companion is away from the start, so this is the degraded panel as well.
    await page.getByText('The companion service is degraded').waitFor();
    await passes(page, 'table and degraded panel');

    await page.getByRole('switch', { name: 'host.ci' }).click();
    await page.getByRole('dialog').locator('.affected').waitFor();
    await page.getByRole('button', { name: 'Turn on' }).click();
    await seen(page.getByRole('alert'), 'Say why');
    await passes(page, 'dialog');
    await page.keyboard.press('Escape');

    await page.getByRole('link', { name: 'History of host.ci' }).click();
    await page.locator('.change').waitFor();
    await passes(page, 'drawer');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await page.route('**/admin/platform-features**', async (route) => await route.abort());
    await console_.move(
      'host.graph',
      colorScheme === 'light' ? 'disabled' : 'enabled',
      'so that it is read again',
    );
    await page.getByText(/Unknown since/).waitFor();
    await passes(page, 'unknown since');
  });

  it('with the colours that the person chose, and without motion', async () => {
    const { page } = await console_.openAsStaff('/console/features', { forcedColors: 'active' });
    await page.getByRole('switch', { name: 'host.spaces' }).waitFor();
    const styles = (await page.evaluate(
      '(({ borderTopStyle, transitionDuration }) => [borderTopStyle, parseFloat(transitionDuration)])(getComputedStyle(document.querySelector(".switch-track")))',
    )) as [string, number];
    expect(styles[0]).toBe('solid');
    expect(styles[1]).toBeLessThan(0.001);
  });
});
