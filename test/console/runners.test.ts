/**
 * These are the stories of the page of runners: what it says of each, what waits, enrolling, pausing,
 * revoking.
 */
import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIndependentRunner } from '../e2e/independent-runner.ts';
import { isConsoleHere, PHONE, startConsole, type OwnConsole } from './console.ts';
import { LOOK, lookAway, outsider, startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { live, seen, unknownSince, unread } from './seen.ts';

const MINUTE = 60_000;

describe.skipIf(!(await isConsoleHere()))('the page of runners', () => {
  let console_: OwnConsole;
  let fleet: Fleet;
  let at: string;
  const ids = new Map<string, string>();
  beforeAll(async () => {
    console_ = await startConsole({ RUNNER_WATCH_EVERY_MS: '200', RUNNER_STUCK_MS: '1000' });
    fleet = await startFleet(console_);
    at = `/console/runners?team=${fleet.teamId}`;
  });
  afterAll(async () => await console_?.stop());

  const add = async (name: string): Promise<string> => {
    const { runnerId } = await fleet.runner(name);
    ids.set(name, runnerId);
    return runnerId;
  };
  const row = (page: Page, name: string) =>
    page.getByRole('row').filter({ has: page.getByRole('link', { name }) });

  it('says how to enroll the first, shows its token once, and notices it', async () => {
    const { page, complaints } = await fleet.open(at);
    await page.getByRole('heading', { name: 'builders has no runner yet' }).waitFor();
    await passes(page, 'no runner');
    await page.getByRole('button', { name: 'Enroll the first runner' }).click();
    const dialog = page.getByRole('dialog', { name: 'Enroll a runner for builders' });
    await dialog.getByLabel('Name of the runner').fill('box 1');
    await dialog.getByRole('button', { name: 'Make a token' }).click();
    const command = (await dialog.locator('pre').first().textContent()) ?? '';
    const token = /^SVC_ENROLL_TOKEN=(enr_[\w-]+) svc-runner enroll --url (\S+) --name 'box 1'$/.exec(
      command,
    )?.[1];
    expect(token, command).toBeDefined();
    expect(command).toContain(console_.server.baseUrl);
    const timer = dialog.getByRole('timer');
    await expect.poll(() => timer.textContent()).toMatch(/^1[45]:\d\d$/);
    await expect.poll(() => timer.getAttribute('aria-live')).toBe('off');
    await dialog.getByRole('button', { name: 'Copy the command to start' }).waitFor();
    await passes(page, 'enroll dialog');

    const runner = createIndependentRunner(console_.server.baseUrl);
    await runner.enroll(token ?? '', `box-${randomBytes(2).toString('hex')}`);
    await seen(dialog.getByRole('status'), 'is enrolled.');
    await runner.call('heartbeat', {
      facts: { version: '1.0.0', os: 'linux', arch: 'x64', isolation: 'container', executor: 'podman' },
    });
    await seen(dialog.getByRole('status'), 'is here and has called.');
    await page.keyboard.press('Escape');
    await page.getByRole('table').waitFor();
    // The token is nowhere any more.
    await page.getByRole('button', { name: 'Enroll a runner' }).click();
    await expect.poll(() => page.content()).not.toContain(token);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Enroll a runner');
    expect(complaints).toEqual([]);
  });

  it('shows what others do without a reload and without asking, and asks while it cannot be told', async () => {
    const { page } = await fleet.open(at);
    await live(page);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/\/teams\/[^/]+\/runners/.test(request.url())) asked.push(new URL(request.url()).pathname);
    });
    const id = await add('elsewhere');
    await seen(row(page, 'elsewhere'), /Ready/);
    await fleet.ok(`POST /teams/${fleet.teamId}/runners/${id}/pause`, { note: 'from another desk' });
    await seen(row(page, 'elsewhere'), /Paused.*from another desk/s);
    expect(asked).toEqual([]);

    await page.route('**/runners/watch', async (route) => await route.abort());
    await lookAway(page);
    await page.getByText('reconnecting, read every 5 s meanwhile').waitFor();
    await fleet.ok(`POST /teams/${fleet.teamId}/runners/${id}/resume`);
    await seen(row(page, 'elsewhere'), /Ready/);
    await expect.poll(() => page.getByText(/Unknown since/).count()).toBe(0);
    await page.unroute('**/runners/watch');
    await page.evaluate(LOOK);
    await live(page);
    await fleet.ok(`DELETE /teams/${fleet.teamId}/runners/${id}`);
    await row(page, 'elsewhere').waitFor({ state: 'detached' });
  });

  it('says of each what is the matter and what to do', async () => {
    const now = Date.now();
    await add('a-fine');
    await fleet.set(await add('b-silent'), {
      last_seen_at: new Date(now - 12 * MINUTE),
      last_heartbeat_at: new Date(now - 12 * MINUTE),
    });
    await fleet.set(await add('c-full'), { not_ready: ['disk: 120 MB free, 2048 MB needed'] });
    await fleet.set(await add('d-flagged'), { strikes: 3 });
    await fleet.set(await add('e-new'), { last_seen_at: null, last_heartbeat_at: null, version: '' });
    const { page } = await fleet.open(at);
    for (const [name, words] of [
      ['a-fine', /Ready/],
      ['b-silent', /Silent.*last call.*12 minutes ago.*svc-runner doctor/s],
      ['c-full', /Not ready.*disk: 120 MB free, 2048 MB needed.*Free some disk space/s],
      ['d-flagged', /Flagged.*3 times.*owner/s],
      ['e-new', /Enrolled, never called: start svc-runner run there\./],
    ] as const) {
      await row(page, name).filter({ hasText: words }).waitFor();
    }
    await expect
      .poll(() => row(page, 'b-silent').locator('time').first().getAttribute('datetime'))
      .toMatch(/^\d{4}-/);
    await passes(page, 'roster');

    await row(page, 'd-flagged').getByRole('button', { name: 'Clear the flag of d-flagged' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Clear the flag' }).click();
    await seen(row(page, 'd-flagged'), /Ready/);
  });

  it('pauses with a note and an end, and resumes where the focus is', async () => {
    const { page } = await fleet.open(at);
    await page.getByRole('button', { name: 'Pause a-fine' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause a-fine?' });
    await dialog.getByLabel('Why').fill('kernel update');
    await dialog.getByLabel('Minutes').fill('ten');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await seen(dialog.getByRole('alert'), 'whole number from 1 to 10,080');
    await passes(page, 'pause dialog');
    await dialog.getByLabel('Minutes').fill('30');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await seen(row(page, 'a-fine'), /Paused.*kernel update.*Resumes by itself at (?:\d+ \w+, )?\d\d:\d\d/s);
    const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label")');
    await expect.poll(focused).toBe('Resume a-fine');
    await page.keyboard.press('Enter');
    await seen(row(page, 'a-fine'), /Ready/);
    await expect.poll(focused).toBe('Pause a-fine');
  });

  it('shows one runner with what it held, asks for diagnostics, and revokes it with a word on what it holds', async () => {
    const runner = await fleet.runner('f-builder');
    const environmentId = await fleet.environment('history');
    await fleet.ok(`POST /environments/${environmentId}/builds`, {});
    await runner.finish(await runner.take());
    await fleet.ok(`POST /environments/${environmentId}/builds`, {});
    const held = await runner.take();
    await runner.beat(held, 'cloning');
    const { page } = await fleet.open(`${at}&runner=${runner.runnerId}`);
    const drawer = page.getByRole('dialog', { name: 'f-builder' });
    await drawer.getByText('Build succeeded').waitFor();
    await passes(page, 'drawer');
    await drawer.getByRole('button', { name: 'Ask for diagnostics' }).click();
    await page.getByText('is asked for diagnostics').waitFor({ state: 'attached' });
    await drawer.getByRole('button', { name: 'Revoke' }).click();
    const ask = page.getByRole('dialog', { name: 'Revoke f-builder?' });
    await ask.getByText('It holds 1 item of work.').waitFor();
    // Going on takes more than Enter.
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Cancel');
    await ask.getByRole('button', { name: 'Revoke' }).click();
    await ask.waitFor({ state: 'detached' });
    await drawer.waitFor({ state: 'detached' });
    await row(page, 'f-builder').waitFor({ state: 'detached' });
    await expect.poll(() => new URL(page.url()).searchParams.get('runner')).toBeNull();
  });

  it('says that work is stuck, since when, why, and which', async () => {
    await console_.server.db
      .sql`update runners set last_seen_at = now() - interval '1 hour' where team_id = ${fleet.teamId}`;
    await fleet.ok(`POST /teams/${fleet.teamId}/sandbox-runs`, { command: ['true'] });
    const { page } = await fleet.open(at, fleet.owner, { viewport: PHONE, colorScheme: 'dark' });
    await page.getByRole('heading', { name: /Work is stuck since/ }).waitFor({ timeout: 20_000 });
    await page.getByText('What waits, and why').click();
    await page.locator('.stuck li').first().waitFor();
    await expect.poll(() => page.locator('.degraded').textContent()).toMatch(/1 run.*waiting/s);
    await passes(page, 'degraded, on a phone');
  });

  it('never says that there are none because it could not ask', async () => {
    const { page } = await fleet.open(at);
    await row(page, 'a-fine').waitFor();
    // The address of the page ends as those of the calls do.
    await page.route('**/teams/*/runners**', async (route) =>
      route.request().isNavigationRequest() ? await route.continue() : await route.abort(),
    );
    await lookAway(page);
    await unknownSince(page);
    await expect.poll(() => row(page, 'a-fine').count()).toBe(1);
    await passes(page, 'unknown since');
    await page.reload();
    await unread(page, 'The runners');
    expect(await page.locator('main').textContent()).not.toMatch(/no runner yet|0 of/);
    await page.unroute('**/teams/*/runners**');
    await row(page, 'a-fine').waitFor();
  });

  it('goes on where it was when the session ends, and spares people who may not the buttons', async () => {
    const viewer = await fleet.join('viewer');
    const { page } = await fleet.open(at, viewer);
    await row(page, 'a-fine').waitFor();
    await expect.poll(() => page.getByRole('button', { name: /Pause|Enroll|Clear/ }).count()).toBe(0);
    await page.context().clearCookies();
    await lookAway(page);
    await seen(page.getByRole('alert'), 'Your session has ended');
    await page.getByLabel('Password').fill(viewer.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await row(page, 'a-fine').waitFor();
  });

  it('is not there for a stranger, nor for anybody while the feature is off', async () => {
    const other = await outsider(console_);
    const stranger = await fleet.open(at, other);
    await stranger.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await console_.move('host.runners', 'disabled', 'to see that nobody learns of it');
    const { page } = await fleet.open(at);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    const pages = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await seen(pages, 'Projects');
    expect(await pages.allTextContents()).not.toContain('Runners');
  });
});
