/**
 * These are the stories of the page of builds: the list, one build with its phases and its followed output,
 * and what can be done with it.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chunkOf, IMAGE, type ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { waitFor } from '../setup/wait-for.ts';
import { isConsoleHere, PHONE, sharedConsole, type Console } from './console.ts';
import { LOOK, lookAway, startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

const ESC = '\u001b';
const LOG_MB = 10;

describe.skipIf(!(await isConsoleHere()))('the page of builds', () => {
  let console_: Console;
  let fleet: Fleet;
  let runner: ScriptedRunner;
  beforeAll(async () => {
    console_ = await sharedConsole();
    fleet = await startFleet(console_);
    runner = await fleet.runner('box-7');
  });

  const submit = async (environmentId: string, body: object = {}): Promise<string> =>
    (await fleet.ok<{ id: string }>(`POST /environments/${environmentId}/builds`, body)).id;
  const row = (page: Page, number: number) =>
    page.getByRole('row').filter({ has: page.getByRole('link', { name: `Build ${number}`, exact: true }) });
  const line = (page: Page, text: string) => page.locator('.log-line').filter({ hasText: text });

  it('begins a build, follows it to its address, and keeps odd addresses from being links', async () => {
    const environmentId = await fleet.environment('production', {
      deploy: { kind: 'container', app: 'shop' },
    });
    const { page, complaints } = await fleet.open(`/console/builds?env=${environmentId}`);
    await page.getByText('Nothing was built in production yet.').waitFor();
    await passes(page, 'no build');
    await page.getByRole('button', { name: 'Build now' }).click();
    await page.getByRole('dialog').getByText('builds, publishes and deploys it').waitFor();
    await page.getByRole('button', { name: 'Build', exact: true }).click();
    await page.getByRole('heading', { name: 'Build 1' }).waitFor();
    await expect.poll(() => page.title()).toBe('Build 1 · Builds · svc console');
    const state = page.locator('.build-head').getByRole('status');
    await seen(state, 'Waiting');

    const offer = await runner.take();
    await runner.beat(offer, 'cloning');
    await runner.log(offer, `Cloning\n${ESC}[32mdone${ESC}[0m <b onclick=x>bold</b>\n`, 0);
    await seen(state, 'Building');
    await expect.poll(() => line(page, 'done').locator('.fg-2').textContent()).toBe('done');
    await expect
      .poll(() => line(page, 'done').locator('.log-text').textContent())
      .toBe('done <b onclick=x>bold</b>');
    await page.locator('.build-head').getByRole('link', { name: 'via box-7' }).waitFor();
    await seen(page.getByRole('listitem'), /Cloningrunning/);
    await passes(page, 'build at work');

    await runner.finish(offer, { address: 'http://10.0.0.7:32768' });
    await seen(state, 'Succeeded');
    const link = page.getByRole('link', { name: /^http:\/\/10\.0\.0\.7:32768/ });
    expect([await link.getAttribute('href'), await link.getAttribute('rel')]).toEqual([
      'http://10.0.0.7:32768',
      'noopener noreferrer',
    ]);
    await expect
      .poll(() => page.locator('.phase-name').allTextContents())
      .toEqual(['Waiting for a runner', 'Cloning', 'Building', 'Publishing', 'Deploying']);
    const [downloaded] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(downloaded.suggestedFilename()).toBe('build-1.log');
    expect(readFileSync(await downloaded.path(), 'utf8')).toContain('Cloning\n');

    await submit(environmentId);
    await runner.finish(await runner.take(), { address: 'javascript:alert(1)' });
    await page.getByRole('link', { name: '‹ Builds of production' }).click();
    await seen(row(page, 2), 'Succeeded');
    await expect
      .poll(() =>
        page.evaluate(
          `(([each]) => [each.tagName, each.textContent])(document.querySelectorAll('.address'))`,
        ),
      )
      .toEqual(['SPAN', 'javascript:alert(1)']);
    await expect.poll(() => page.title()).toBe('Builds · svc console');
    await passes(page, 'list of builds');
    expect(complaints).toEqual([]);
  });

  it('asks for approval, deploys when told to, and rolls back', async () => {
    const environmentId = await fleet.environment('careful', {
      deploy: { kind: 'container', app: 'careful' },
      deployApproval: true,
    });
    const id = await submit(environmentId);
    const first = await runner.take();
    await runner.finish({ ...first, deploy: undefined } as never);
    const { page } = await fleet.open(`/console/builds?env=${environmentId}&build=${id}`);
    const state = page.locator('.build-head').getByRole('status');
    await seen(state, 'Waits for approval');
    await page.getByRole('button', { name: 'Approve the deploy' }).click();
    const ask = page.getByRole('dialog', { name: 'Deploy build 1?' });
    await ask.getByText(IMAGE).waitFor();
    await passes(page, 'approval');
    await ask.getByRole('button', { name: 'Deploy it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const deploy = await runner.take();
    await runner.finish(deploy);
    await page.evaluate(LOOK);
    await seen(state, 'Succeeded');

    await page.getByRole('button', { name: 'Roll back to it' }).click();
    await page
      .getByRole('dialog', { name: 'Roll back to build 1?' })
      .getByRole('button', { name: 'Roll back' })
      .click();
    await page.getByRole('heading', { name: 'Build 2' }).waitFor();
    await page.getByRole('button', { name: 'Cancel the build' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the build' }).click();
    await seen(state, 'Cancelled');
    await page.goBack();
    await page.getByRole('heading', { name: 'Build 1' }).waitFor();
  });

  it('folds phases and steps, tells its runner from the program, and goes to the first error', async () => {
    const environmentId = await fleet.environment('folded');
    const id = await submit(environmentId);
    const offer = await runner.take();
    let offset = 0;
    const write = async (stream: 'runner' | 'stdout', text: string): Promise<void> => {
      const { status } = await runner.append(offer, { offset, chunks: [{ ...chunkOf(text), stream }] });
      expect(status).toBeLessThan(300);
      offset += Buffer.byteLength(text);
    };
    await runner.beat(offer, 'cloning');
    await write('runner', '==> cloning: cloning acme/shop\n');
    await runner.beat(offer, 'building');
    const { page, complaints } = await fleet.open(`/console/builds?env=${environmentId}&build=${id}`);
    await seen(page.getByRole('listitem'), /Buildingrunning/);
    // The phase is known before the last output of the one before it has come.
    await write('stdout', 'still cloning\n==> building: not by the runner\n');
    await line(page, 'still cloning').waitFor();
    await expect.poll(() => page.locator('.log-heading').allTextContents()).toHaveLength(1);
    await write('runner', '==> building: building with auto\n==> step 1 of 2: npm ci\n');
    await write('stdout', 'added 0 errors\n');
    await write('runner', '==> step 2 of 2: npm test\n');
    await write('stdout', `${ESC}[31merror:${ESC}[0m ${'long '.repeat(60)}end\n`);
    const headings = page.locator('.log-fold');
    await expect.poll(() => headings.count()).toBe(4);
    expect(await line(page, 'not by the runner').getAttribute('class')).toBe('log-line log-stdout');

    const log = page.getByRole('region', { name: 'Output of build 1' });
    await log.focus();
    await page.keyboard.press('w');
    const long = page.locator('.log-wrapped .log-line').filter({ hasText: 'long' });
    await expect.poll(async () => ((await long.boundingBox())?.height ?? 0) % 20).toBe(0);
    await expect.poll(async () => (await long.boundingBox())?.height).toBeGreaterThan(20);
    // What was reserved for it is what its text takes.
    expect(
      await page.evaluate(
        `Math.max(...[...document.querySelectorAll('.log-text')].map((each) => each.scrollHeight - each.clientHeight))`,
      ),
    ).toBe(0);
    await page.reload();
    await long.waitFor();

    await page.getByRole('button', { name: /step 1 of 2/ }).focus();
    await page.keyboard.press('Enter');
    await line(page, 'added 0 errors').waitFor({ state: 'detached' });
    await seen(headings, '==> step 1 of 2: npm ci … 1 line');
    await page.getByRole('button', { name: 'Unfold all' }).click();
    await page.getByRole('button', { name: 'Fold all' }).click();
    await expect.poll(() => page.locator('.log-shown .log-line').count()).toBe(2);
    await passes(page, 'folded output');
    // What is gone to is unfolded; other parts stay folded.
    await log.focus();
    await page.keyboard.press('e');
    await seen(page.locator('.log-chosen'), 'error: long');
    expect(await line(page, 'still cloning').count()).toBe(0);
    await page.keyboard.press('w');
    await runner.report(offer, { exitCode: 1, message: 'npm test ended with exit code 1' });
    await page.getByText('Failed while building, exit code 1.').waitFor();
    expect(complaints).toEqual([]);
  });

  it(`stays usable with ${LOG_MB} MB of output, and yields to who scrolls up`, async () => {
    const environmentId = await fleet.environment('chatty');
    const id = await submit(environmentId);
    const offer = await runner.take();
    await runner.beat(offer, 'building');
    let offset = 0;
    let lines = 0;
    const write = async (text: string): Promise<void> => {
      const { status, body } = await runner.log(offer, text, offset);
      expect(status, JSON.stringify(body)).toBeLessThan(300);
      offset += Buffer.byteLength(text);
    };
    while (offset < LOG_MB * 1_000_000) {
      let chunk = '';
      while (chunk.length < 180_000)
        chunk += `${(lines += 1)} ${ESC}[3${lines % 8}mlayer${ESC}[0m ${'x'.repeat(80)}\n`;
      await write(chunk);
    }
    const { page, complaints, close } = await fleet.open(`/console/builds?env=${environmentId}&build=${id}`);
    const began = performance.now();
    await line(page, `${lines} layer`).waitFor({ timeout: 30_000 });
    const shownMs = performance.now() - began;
    const log = page.getByRole('region', { name: 'Output of build 1' });
    await expect.poll(() => page.locator('.log-line').count()).toBeLessThan(200);

    // The log is at its end, and follows.
    await write('and one more\n');
    await line(page, 'and one more').waitFor();
    // The keyboard goes up, and it lets go: new output does not move what is read.
    await log.focus();
    await page.keyboard.press('Home');
    const scrolled = async () => (await page.evaluate(`document.querySelector('.log').scrollTop`)) as number;
    // The browser moves there step by step.
    await waitFor('the first line at the top', async () => (await scrolled()) === 0 || undefined);
    await line(page, '1 layer').first().waitFor();
    await page.getByRole('button', { name: 'Follow the end' }).waitFor();
    await write('unread\n');
    await seen(page.locator('.summary'), `${(lines + 2).toLocaleString('en')} lines`);
    await expect.poll(() => scrolled()).toBe(0);
    await page.getByRole('button', { name: 'Follow the end' }).click();
    await line(page, 'unread').waitFor();
    await page.getByRole('button', { name: 'Follow the end' }).waitFor({ state: 'detached' });
    // Nothing half below the header, which is measured as too small.
    await page.evaluate('window.scrollTo(0, 0)');
    await passes(page, 'long output');
    const jumpMs = (await page.evaluate(`(async (each) => {
      const began = performance.now();
      for (let n = 0; n < 20; n += 1) {
        each.scrollTop = (each.scrollHeight / 20) * n;
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      }
      return (performance.now() - began) / 20;
    })(document.querySelector('.log'))`)) as number;
    console.log(
      `${LOG_MB} MB, ${lines} lines: shown after ${Math.round(shownMs)} ms, ${Math.round(jumpMs)} ms a jump`,
    );
    expect(jumpMs).toBeLessThan(250);
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);

  it('says why a build failed, on a phone in the dark too, and goes on from where its stream was lost', async () => {
    const environmentId = await fleet.environment('broken');
    const id = await submit(environmentId);
    const offer = await runner.take();
    await runner.beat(offer, 'building');
    await runner.log(offer, 'first\n', 0);
    const options = { viewport: PHONE, colorScheme: 'dark' } as const;
    const { page } = await fleet.open(
      `/console/builds?env=${environmentId}&build=${id}`,
      fleet.owner,
      options,
    );
    await line(page, 'first').waitFor();
    await page.route('**/logs**', async (route) => await route.abort());
    await lookAway(page);
    await seen(page.getByRole('status'), /Output unknown since/);
    await runner.log(offer, 'second\n', 6);
    await page.unroute('**/logs**');
    await page.evaluate(LOOK);
    await line(page, 'second').waitFor();
    await expect.poll(() => line(page, 'first').count()).toBe(1);
    await runner.report(offer, { exitCode: 2, message: 'step 3 of the Dockerfile ended with exit code 2' });
    await page.getByText('Failed while building, exit code 2.').waitFor();
    await page.locator('.notice').getByText('step 3 of the Dockerfile').waitFor();
    await seen(page.getByRole('listitem'), /Buildingfailed/);
    await passes(page, 'failed build, on a phone');
    await page.goto(`/console/builds?env=${environmentId}`);
    await seen(row(page, 1), 'Failed');
    await passes(page, 'list, on a phone');
  });

  it('frees an environment, keeps to its error states, and knows nothing of others', async () => {
    const environmentId = await fleet.environment('locked');
    await submit(environmentId);
    await runner.beat(await runner.take(), 'cloning');
    const { page } = await fleet.open(`/console/builds?env=${environmentId}`);
    await row(page, 1).waitFor();
    await page.getByRole('button', { name: 'Unlock' }).click();
    const ask = page.getByRole('dialog', { name: 'Unlock locked?' });
    await ask.getByRole('button', { name: 'Unlock' }).click();
    await ask.getByRole('alert').waitFor();
    await ask.getByLabel('Cancel the build that holds it').check();
    await passes(page, 'unlock');
    await ask.getByRole('button', { name: 'Cancel and unlock' }).click();
    await seen(page.getByRole('status'), 'locked is free again');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Unlock');

    await page.route('**/builds?**', async (route) => await route.abort());
    await page.evaluate(LOOK);
    await seen(page.getByRole('status'), /Unknown since/);
    await expect.poll(() => row(page, 1).count()).toBe(1);
    await page.unroute('**/builds?**');
    await page.goto('/console/builds?env=env_00000000000000000000');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });
});
