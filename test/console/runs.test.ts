/**
 * Runs: one is made in the console, read with its output, found by a line, and made again; and the output of
 * one that has a million lines.
 */
import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chunkOf, type ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { isConsoleHere, PHONE, sharedConsole } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

const MILLION = 1_000_000;
const ROUNDS = 5;
/** Output that a runner sends at once, at most. */
const PIECE_BYTES = 250_000;

/** Notes when the first line is there, in milliseconds since the page was asked for, and the longest task. */
const WATCH = `
  new MutationObserver((_, watch) => {
    if (document.querySelector('.log-line:not(.log-measure)') === null) return;
    window.firstLineMs = performance.now();
    watch.disconnect();
  }).observe(document, { childList: true, subtree: true });
  window.longestMs = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longestMs = Math.max(window.longestMs, duration);
  }).observe({ type: 'longtask', buffered: true });
`;

const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

describe.skipIf(!(await isConsoleHere()))('the pages of runs', () => {
  let fleet: Fleet;
  let runner: ScriptedRunner;
  let runs: string;
  beforeAll(async () => {
    fleet = await startFleet(await sharedConsole());
    runner = await fleet.runner('box');
    runs = `/console/teams/${fleet.teamId}/sandbox-runs`;
  });

  const take = async () => {
    const { body } = await runner.call('poll', { waitMs: 10_000 });
    const { id, epoch } = body['run'] as { id: string; epoch: number };
    return { id, epoch };
  };
  const end = async (run: object, exitCode: number) =>
    await runner.call('report', {
      ...run,
      reportId: randomBytes(8).toString('hex'),
      reason: 'exit',
      exitCode,
    });
  const focusOf = async (page: Page) => await page.evaluate('document.activeElement.className');

  it('make a run with a command and Enter, show its output as it comes, and find a line in it', async () => {
    const { page, complaints } = await fleet.open(runs);
    await page.getByText('There is none yet.').waitFor();
    await passes(page, 'no run');
    await page.getByRole('button', { name: 'New run' }).first().click();
    await page.keyboard.type('echo "a line" | cat');
    await seen(page.locator('.run-as'), `Runs sh -c 'echo "a line" | cat'`);
    await passes(page, 'new run');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `sh -c 'echo "a line" | cat'` }).waitFor();
    await seen(page.locator('.log-empty'), 'Nothing yet.');
    const { id, epoch } = await take();
    const lines = Array.from({ length: 500 }, (_, n) => `line ${n + 1} ${n % 250 === 249 ? 'needle' : ''}\n`);
    await runner.call('logs', { id, epoch, offset: 0, chunks: [chunkOf(lines.join(''))] });
    await page.getByText('500 lines').waitFor();

    // Somebody with the keyboard alone gets to the field, to the first one, and to the others.
    await page.getByRole('region', { name: `Output of run ${id}` }).focus();
    await page.keyboard.press('/');
    await page.keyboard.type('NEEDLE');
    await seen(page.getByRole('status'), '0 of 2');
    await page.keyboard.press('Enter');
    const chosen = page.locator('.log-chosen');
    await seen(chosen, 'line 250 needle');
    await seen(page.getByRole('status'), '1 of 2');
    await page.keyboard.press('n');
    await seen(chosen, 'line 500 needle');
    await page.keyboard.press('N');
    await seen(chosen, 'line 250 needle');
    expect(await chosen.locator('mark').textContent()).toBe('needle');
    await page.keyboard.press('J');
    await expect.poll(() => chosen.count()).toBe(2);
    expect(page.url()).toMatch(/#L250-L251$/);
    await runner.call('report', {
      id,
      epoch,
      reportId: 'a'.repeat(16),
      reason: 'exit',
      exitCode: 3,
    });
    await page.getByText('exit code 3').first().waitFor();
    await passes(page, 'a run that failed');
    // The link leads to the lines again.
    await page.reload();
    await seen(chosen.first(), 'line 250 needle');
    await page.getByRole('button', { name: 'Run again' }).click();
    await expect
      .poll(() => page.getByLabel('Command', { exact: true }).inputValue())
      .toBe('echo "a line" | cat');
    await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(id));
    await page.getByRole('button', { name: 'Cancel sandbox run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel sandbox run' }).click();
    await seen(page.locator('.item-head'), 'Cancelled');
    expect(complaints).toEqual([]);
  });

  it('list runs, by their state too, and say what is wrong with a new one', async () => {
    const open = await fleet.open(`${runs}?state=failed,dead`, fleet.owner, {
      viewport: PHONE,
      colorScheme: 'dark',
    });
    const { page, complaints } = open;
    const rows = page.locator('.rows tbody tr');
    await seen(rows, /echo "a line".*Failed.*exit code 3.*box/s);
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole('button', { name: 'Cancelled' }).click();
    await seen(rows, 'Cancelled');
    expect(page.url()).toMatch(/state=cancelled$/);
    await passes(page, 'list of runs, on a phone');
    await page.getByRole('button', { name: 'New run' }).click();
    const dialog = page.getByRole('dialog');
    await page.getByLabel('Command', { exact: true }).fill(`echo 'open`);
    await page.getByLabel('Timeout in seconds').fill('90000');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await seen(dialog.getByRole('alert'), 'A quote is not closed.');
    await seen(dialog.getByRole('alert'), 'At most 86400');
    await expect.poll(() => focusOf(page)).toBe('run-typed');
    await passes(page, 'new run that is wrong, on a phone');
    await page.getByLabel('Command', { exact: true }).fill('true');
    await page.getByLabel('Timeout in seconds').fill('90');
    await page.getByLabel('Runner labels').fill('gpu=a100 os=linux');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('heading', { name: 'true', exact: true }).waitFor();
    const id = page.url().replace(/.*\//, '');
    expect(await fleet.ok(`GET /sandbox-runs/${id}`)).toMatchObject({
      command: ['true'],
      limits: { timeoutSeconds: 90 },
      runner: { labels: { gpu: 'a100', os: 'linux' } },
    });
    expect(complaints).toEqual([]);
  });

  it('show a million lines as soon as a thousand, and let them be read by keys', async () => {
    const written = async (count: number): Promise<string> => {
      await fleet.ok(`POST /teams/${fleet.teamId}/sandbox-runs`, {
        command: ['seq', String(count)],
        limits: { outputBytes: 67_108_864 },
      });
      const run = await take();
      let offset = 0;
      for (let from = 1; from <= count;) {
        let piece = '';
        for (; from <= count && piece.length < PIECE_BYTES; from += 1)
          piece += `${from} of many${from % 100_000 === 0 ? ' needle' : ''}\n`;
        const { status, body } = await runner.call('logs', { ...run, offset, chunks: [chunkOf(piece)] });
        expect(status, JSON.stringify(body)).toBe(200);
        offset += piece.length;
      }
      await end(run, 0);
      return run.id;
    };
    const few = await written(1_000);
    const many = await written(MILLION);
    const { page, complaints, close } = await fleet.open(`${runs}/${few}`);
    await page.addInitScript(WATCH);
    const took = new Map<string, number[]>([
      [few, []],
      [many, []],
    ]);
    const longest = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [id, all] of took) {
        await page.goto(`${runs}/${id}`);
        await page.locator('.log-shown .log-line').first().waitFor();
        all.push((await page.evaluate('window.firstLineMs')) as number);
        if (round < ROUNDS - 1) continue;
        await seen(page.locator('.summary'), id === few ? '1,000 lines' : '1,000,000 lines');
        longest.set(id, (await page.evaluate('window.longestMs')) as number);
      }
    const [fewMs, manyMs] = [...took.values()].map(medianOf);
    const ratio = (manyMs ?? 0) / (fewMs ?? 1);
    console.log(
      `first lines of a million after ${Math.round(manyMs ?? 0)} ms, of a thousand after ${Math.round(fewMs ?? 0)} ms: ${ratio.toFixed(2)} x; longest tasks ${Math.round(longest.get(many) ?? 0)} and ${Math.round(longest.get(few) ?? 0)} ms`,
    );
    expect(ratio).toBeLessThanOrEqual(1.5);

    const line = (number: number) => page.getByText(`${number} of many`, { exact: true });
    const log = page.getByRole('region', { name: /Output of run/ });
    await line(MILLION - 1).waitFor();
    await log.focus();
    await page.keyboard.press('Home');
    await line(1).waitFor();
    // A page down is a page down, although the bar is shorter than the lines are high.
    await page.keyboard.press('PageDown');
    await expect
      .poll(async () => Number(await page.evaluate(TOP_LINE)), { message: 'the line at the top' })
      .toBeGreaterThan(5);
    expect(Number(await page.evaluate(TOP_LINE))).toBeLessThan(60);
    await page.keyboard.press('/');
    await page.keyboard.type('needle');
    await seen(page.getByRole('status'), '0 of 10');
    await page.keyboard.press('Enter');
    await seen(page.locator('.log-chosen'), '100000 of many needle');
    await page.keyboard.press('N');
    await seen(page.locator('.log-chosen'), '1000000 of many needle');
    await page.keyboard.press('n');
    await page.keyboard.press('n');
    await seen(page.locator('.log-chosen'), '200000 of many needle');
    await page.keyboard.press('w');
    await seen(page.locator('.log-chosen'), '200000 of many needle');
    await page.keyboard.press('t');
    await page.locator('time.log-time').first().waitFor();
    await page.keyboard.press('End');
    await line(MILLION - 1).waitFor();
    await expect.poll(() => page.locator('.log-line').count()).toBeLessThan(200);
    expect(complaints).toEqual([]);
    await close();
  }, 180_000);
});

/** Number of the line that is at the top of what is in view. */
const TOP_LINE = `(({ top }) => [...document.querySelectorAll('.log-shown .log-line')]
  .find((line) => line.getBoundingClientRect().bottom > top + 1)?.querySelector('.log-number').textContent)(document.querySelector('.log').getBoundingClientRect())`;
