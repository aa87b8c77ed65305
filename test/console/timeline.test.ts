/**
 * These are the stories of the page of the timeline: what CI reports and what is built here, by commit, as it
 * happens.
 */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { isConsoleHere, PHONE, sharedConsole, type Console } from './console.ts';
import { LOOK, lookAway, outsider, startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { startReporting, type Report } from './reports.ts';
import { live, seen, unknownSince, unread } from './seen.ts';

const WATCHED = 50;

describe.skipIf(!(await isConsoleHere()))('the page of the timeline', () => {
  let console_: Console;
  let fleet: Fleet;
  let runner: ScriptedRunner;
  let connection: string;
  let report: (more: Omit<Report, 'ciConnectionId'>) => Promise<string>;
  beforeAll(async () => {
    console_ = await sharedConsole();
    fleet = await startFleet(console_);
    runner = await fleet.runner('box-7');
    connection = await fleet.connect('github');
    const reporter = await startReporting(console_, fleet);
    report = async (more) => await reporter({ ciConnectionId: connection, branch: 'main', ...more });
  });

  const sha = (letter: string): string => letter.repeat(40);
  const at = (environmentId: string, query = ''): string => `/console/timeline?env=${environmentId}${query}`;
  const row = (page: Page, name: string) =>
    page.locator('tr.row').filter({ has: page.getByRole('rowheader', { name }) });
  /** Returns the names that commits and entries have, from top to bottom. */
  const names = async (page: Page): Promise<string[]> =>
    (await page.locator('.commit-line code, .entry-name').allInnerTexts()).map(
      (text) => text.split('↗')[0]?.trim() ?? '',
    );

  it('says how to begin, and shows what comes, by commit, without a reload and without asking', async () => {
    const environmentId = await fleet.environment('production', {
      repository: 'https://github.com/acme/shop.git',
      deploy: { kind: 'container', app: 'shop' },
    });
    const { page, complaints } = await fleet.open(`/console/builds?env=${environmentId}`);
    await page.getByRole('link', { name: 'Timeline' }).last().click();
    await page.getByRole('heading', { name: 'Nothing was built or run for production yet' }).waitFor();
    await expect.poll(() => page.title()).toBe('Timeline · svc console');
    await expect
      .poll(() => page.locator('pre').allTextContents())
      .toEqual([
        `svc ci connect --team ${fleet.teamId} --provider github --repo github.com/acme/shop`,
        `svc ci report --connection CONNECTION_ID --env ${environmentId} -- npm test`,
      ]);
    await live(page);
    await passes(page, 'nothing yet');

    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/timeline')) asked.push(request.url());
    });
    const externalUrl = 'https://github.com/acme/shop/actions/runs/7';
    await report({
      environmentId,
      pipelineName: 'old',
      commitSha: sha('a'),
      status: 'failed',
      durationMs: 9_000,
    });
    const tests = await report({
      environmentId,
      pipelineName: 'tests',
      commitSha: sha('b'),
      actor: 'kim',
      externalUrl,
    });
    await seen(row(page, 'tests'), /GitHub Actions.*Running.*running for \d+ s.*kim/s);
    const link = page.getByRole('link', { name: /^tests/ });
    expect([await link.getAttribute('href'), await link.getAttribute('rel')]).toEqual([
      externalUrl,
      'noopener noreferrer',
    ]);
    await fleet.ok(`POST /environments/${environmentId}/builds`, { commit: sha('b') });
    await seen(row(page, 'Build 1'), /Waiting.*waiting for/s);
    await runner.finish(await runner.take(), { commit: sha('b') });
    await seen(row(page, 'Build 1'), /Succeeded.*via box-7/s);
    await console_.server.db
      .sql`update ci_runs set status = 'queued', blocked = true, reason = 'approval' where id = ${tests}`;
    await seen(row(page, 'tests'), /Waiting.*waits for a person.*needs an approval/s);
    expect(asked).toEqual([]);
    await expect.poll(() => names(page)).toEqual(['bbbbbbb', 'Build 1', 'tests', 'aaaaaaa', 'old']);
    await expect
      .poll(() => page.getByRole('link', { name: 'bbbbbbb' }).getAttribute('href'))
      .toBe(`https://github.com/acme/shop/commit/${sha('b')}`);
    const time = row(page, 'tests').locator('time');
    await expect.poll(() => time.getAttribute('title')).toMatch(/\d{4}/);
    await passes(page, 'a build and two runs');

    await page.getByRole('link', { name: 'Build 1' }).click();
    await page.getByRole('heading', { name: 'Build 1' }).waitFor();
    await page.goBack();
    await row(page, 'Build 1').waitFor();
    expect(complaints).toEqual([]);
  });

  it('keeps its filters in the address, for the way back and for others', async () => {
    const environmentId = await fleet.environment('filtered', { branch: 'next' });
    await report({ environmentId, pipelineName: 'tests', commitSha: sha('c'), status: 'failed' });
    await report({
      environmentId,
      pipelineName: 'lint',
      commitSha: sha('c'),
      status: 'success',
      durationMs: 1_000,
    });
    await report({
      environmentId,
      pipelineName: 'docs',
      commitSha: sha('d'),
      branch: 'docs',
      status: 'success',
    });
    await fleet.ok(`POST /environments/${environmentId}/builds`, { commit: sha('d') });
    const { page } = await fleet.open(at(environmentId));
    await row(page, 'docs').waitFor();
    const shown = async (...expected: string[]): Promise<void> => {
      await expect
        .poll(async () => (await page.locator('.entry-name').allInnerTexts()).toSorted(), { timeout: 10_000 })
        .toEqual(expected.toSorted());
    };
    await page.getByLabel('Status').selectOption('Failed');
    await shown('tests');
    await expect.poll(() => new URL(page.url()).searchParams.get('status')).toBe('failed');
    await seen(page.getByRole('status'), '1 of 4 loaded');
    await page.getByLabel('Status').selectOption('Succeeded');
    await shown('lint', 'docs');
    await page.getByLabel('Branch', { exact: true }).selectOption('docs');
    await shown('docs');
    await passes(page, 'filtered');
    await page.goBack();
    await shown('lint', 'docs');
    await page.goBack();
    await shown('tests');
    await page.goto(at(environmentId, '&source=build&q=dddd'));
    await shown('Build 1');
    await expect.poll(() => page.getByLabel('Source').inputValue()).toBe('build');
    await page.getByRole('searchbox').fill('nobody');
    await page.getByText('None of the 4 entries that are loaded matches.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await shown('Build 1', 'docs', 'lint', 'tests');
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });

  it('goes back to older ones, and keeps what newer ones push out', async () => {
    const environmentId = await fleet.environment('long');
    const began = Date.now() - 3_600_000;
    for (let n = 0; n < WATCHED + 8; n += 1)
      await report({
        environmentId,
        pipelineName: `run ${n}`,
        commitSha: String(n).padStart(8, '0'),
        status: 'success',
        startedAt: new Date(began + n * 1_000).toISOString(),
      });
    const { page } = await fleet.open(at(environmentId));
    await row(page, 'run 57').waitFor();
    await live(page);
    await expect.poll(() => row(page, 'run 8').count()).toBe(1);
    await expect.poll(() => page.getByRole('rowheader', { name: 'run 7', exact: true }).count()).toBe(0);
    await report({ environmentId, pipelineName: 'newest', commitSha: sha('e') });
    await row(page, 'newest').waitFor();
    await expect.poll(() => page.getByRole('rowheader', { name: /^run 8\b/ }).count()).toBe(1);
    await page.getByRole('button', { name: 'Load older' }).click();
    await page.getByRole('rowheader', { name: /^run 0\b/ }).waitFor();
    await page.getByRole('button', { name: 'Load older' }).waitFor({ state: 'detached' });
    await expect.poll(() => page.locator('.entry-name').count()).toBe(WATCHED + 9);
    // Looking away for a moment keeps what is loaded.
    await lookAway(page);
    await report({ environmentId, pipelineName: 'meanwhile', commitSha: sha('e') });
    await row(page, 'meanwhile').waitFor();
    await expect.poll(() => page.locator('.entry-name').count()).toBe(WATCHED + 10);
  });

  it('asks while it cannot be told, says what it does not know, and never that there is nothing', async () => {
    const environmentId = await fleet.environment('shaky');
    await report({ environmentId, pipelineName: 'first', commitSha: sha('a'), status: 'success' });
    const { page } = await fleet.open(at(environmentId));
    await row(page, 'first').waitFor();
    await page.route('**/timeline/watch**', async (route) => await route.abort());
    await lookAway(page);
    await page.getByText('reconnecting, read every 5 s meanwhile').waitFor();
    await report({ environmentId, pipelineName: 'second', commitSha: sha('a') });
    await row(page, 'second').waitFor();

    await page.route('**/environments/*/timeline**', async (route) => await route.abort());
    await page.evaluate(LOOK);
    await unknownSince(page);
    await expect.poll(() => page.locator('.entry-name').count()).toBe(2);
    await passes(page, 'unknown since');
    await page.reload();
    await unread(page, 'The timeline');
    expect(await page.locator('main').textContent()).not.toMatch(/Nothing was built|0 entries/);
    await page.unroute('**/environments/*/timeline**');
    await page.unroute('**/timeline/watch**');
    await row(page, 'second').waitFor();
    await page.evaluate(LOOK);
    await live(page);
  });

  it('reads on a phone in the dark, and takes the words of CI systems as words', async () => {
    const environmentId = await fleet.environment('hostile');
    const pipelineName = `<img src=x onerror=alert(1)> ${'without-any-place-to-break-'.repeat(8)}`;
    const branch = `feature/${'x'.repeat(200)}`;
    await report({
      environmentId,
      pipelineName,
      branch,
      commitSha: sha('f'),
      actor: 'a'.repeat(200),
      trigger: 'push',
    });
    const soft = await report({ environmentId, pipelineName: 'lint', commitSha: sha('f'), status: 'failed' });
    await console_.server.db
      .sql`update ci_runs set soft = true, reason = ${'r'.repeat(200)} where id = ${soft}`;
    await report({ environmentId, pipelineName: 'no commit' });
    await fleet.ok(`POST /environments/${environmentId}/builds`, {});
    const options = { viewport: PHONE, colorScheme: 'dark' } as const;
    const { page, complaints } = await fleet.open(at(environmentId), fleet.owner, options);
    await seen(row(page, 'lint'), 'a failure that is allowed');
    expect(await page.locator('main img').count()).toBe(0);
    await expect.poll(() => page.getByText('Commit not known').count()).toBe(2);
    await live(page);
    await passes(page, 'on a phone');
    expect(complaints).toEqual([]);
  });

  it('can be read by every member, and by nobody else', async () => {
    const environmentId = await fleet.environment('private');
    await report({ environmentId, pipelineName: 'secret', commitSha: sha('a') });
    const viewer = await fleet.join('viewer');
    const seen = await fleet.open(at(environmentId), viewer);
    await row(seen.page, 'secret').waitFor();
    const other = await outsider(console_);
    const stranger = await fleet.open(at(environmentId), other);
    await stranger.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });
});
