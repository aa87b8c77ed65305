/** Runs: one is made in the console, read with its output, found by a line, and made again. */
import { beforeAll, describe, expect, it } from 'vitest';
import { chunkOf } from '../setup/builds/scripted-runner.ts';
import { isConsoleHere, sharedConsole } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

describe.skipIf(!(await isConsoleHere()))('the pages of runs', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet(await sharedConsole());
  });

  it('make a run, show its output as it comes, and find a line in it', async () => {
    const runner = await fleet.runner('box');
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/sandbox-runs`);
    await page.getByRole('button', { name: 'Create sandbox run' }).click();
    await page.getByLabel('Command').fill('sh\n-c\necho "a line"');
    await page.getByRole('dialog').getByRole('button', { name: 'Create sandbox run' }).click();
    await page.getByRole('heading', { name: `sh -c 'echo "a line"'` }).waitFor();
    await seen(page.locator('.log-empty'), 'Nothing yet.');
    const { body } = await runner.call('poll', { waitMs: 10_000 });
    const { id, epoch } = body['run'] as { id: string; epoch: number };
    const lines = Array.from({ length: 500 }, (_, n) => `line ${n + 1} ${n === 249 ? 'needle' : ''}\n`).join(
      '',
    );
    await runner.call('logs', { id, epoch, offset: 0, chunks: [chunkOf(lines)] });
    await page.getByText('500 lines').waitFor();
    await page.getByLabel('Find in the output').fill('NEEDLE');
    await seen(page.getByRole('status'), '0 of 1');
    await page.getByRole('button', { name: 'Next' }).click();
    await seen(page.locator('.log-chosen'), 'line 250 needle');
    expect(page.url()).toMatch(/#L250$/);
    await runner.call('report', { id, epoch, reportId: 'a'.repeat(16), reason: 'exit', exitCode: 3 });
    await page.getByText('exit code 3').first().waitFor();
    await passes(page, 'a run that failed');
    // The link leads to the line again.
    await page.reload();
    await seen(page.locator('.log-chosen'), 'line 250 needle');
    await page.getByRole('button', { name: 'Run again' }).click();
    await expect.poll(() => page.getByLabel('Command').inputValue()).toBe('sh\n-c\necho "a line"');
    await page.getByRole('dialog').getByRole('button', { name: 'Create sandbox run' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(id));
    await page.getByRole('button', { name: 'Cancel sandbox run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel sandbox run' }).click();
    await seen(page.locator('.item-head'), 'Cancelled');
    expect(complaints).toEqual([]);
  });
});
