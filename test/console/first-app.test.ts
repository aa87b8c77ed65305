/**
 * A person with the console alone, and a terminal on the machine that becomes the runner, gets from the first
 * sign-in to an app that answers: a real daemon with podman, a repository, a registry.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProgram, type Program } from '../e2e/processes.ts';
import { startGitServer, type GitServer } from '../setup/git-server.ts';
import { has } from '../setup/needs.ts';
import { freePort, startRegistry, type Registry } from '../setup/registry.ts';
import { appTree, removeApp } from '../setup/runner/build-stories.ts';
import { shareProofs } from '../setup/runner/proofs.ts';
import { isConsoleHere, signInAs, startConsole, type OwnConsole } from './console.ts';
import { passes } from './passes.ts';
import { press, pressInDialog } from './press.ts';
import { seen } from './seen.ts';

const there =
  (await isConsoleHere()) && (await has('podman')) && (await has('git')) && (await has('registry'));
/** Containers take so long on a busy machine. */
const WORK_MS = 120_000;

describe.skipIf(!there)('from the first sign-in to a deployed app', { timeout: 300_000 }, () => {
  const app = `first-${randomBytes(4).toString('hex')}`;
  const machine = mkdtempSync(join(tmpdir(), 'svc-machine-'));
  let console_: OwnConsole;
  let git: GitServer;
  let registry: Registry;
  let daemon: Program | undefined;

  beforeAll(async () => {
    const port = await freePort();
    git = await startGitServer();
    console_ = await startConsole({ LOCAL_REGISTRY: `127.0.0.1:${port}` });
    const { baseUrl, dataDir } = console_.server;
    const certificate = join(dataDir, 'registry', 'tokens.crt');
    registry = await startRegistry({ port, tokens: { realm: `${baseUrl}/registry/token`, certificate } });
  }, 120_000);

  afterAll(async () => {
    await daemon?.stop('SIGKILL');
    await console_?.stop();
    await removeApp(app);
    await Promise.all([git?.stop(), registry?.stop()]);
    rmSync(machine, { recursive: true, force: true });
  }, 60_000);

  const goOn = async (page: Page, step: string): Promise<void> => {
    await page.getByRole('link', { name: 'Overview' }).first().click();
    await page.getByRole('link', { name: `Go on: ${step}` }).click();
  };

  /** Does what a person types on the machine, with its folder in place of the user's own. */
  async function enroll(command: string): Promise<void> {
    const [token = '', , ...words] = command.split(/\s+/);
    const args = [...words, '--data-dir', machine];
    const enrolled = startProgram('runner/bin/svc-runner.mjs', args, {
      SVC_ENROLL_TOKEN: token.replace('SVC_ENROLL_TOKEN=', ''),
    });
    expect(await enrolled.exited, enrolled.output()).toBe(0);
    shareProofs(machine);
    const run = ['run', '--data-dir', machine, '--executor', 'podman', '--allow-insecure-git'];
    daemon = startProgram('runner/bin/svc-runner.mjs', run);
  }

  it('takes the console, and a terminal on the machine', async () => {
    const { staffEmail, staffPassword, teamId } = console_.server.first;
    const { page, complaints } = await console_.open('/console');
    await signInAs(page, staffEmail, staffPassword);
    await seen(page.locator('.setup-steps li'), /Open\s*A region with runners is assigned/);
    await passes(page, 'the overview of a new team');

    // The first account is of the staff: it says that the team's machines do the work.
    await page.goto('/console/staff/teams');
    await page.getByRole('link', { name: 'first team', exact: true }).click();
    await page.waitForURL(`**/teams/${teamId}`);
    await press(page, 'Set region');
    const region = page.locator('datalist option', { hasText: 'customer' });
    await region.waitFor({ state: 'attached' });
    await page.getByLabel('Region ID').fill((await region.getAttribute('value')) ?? '');
    await pressInDialog(page, 'Set region');

    await page.goto('/console');
    await goOn(page, 'A runner is enrolled');
    await press(page, 'Enroll the first runner');
    await page.getByLabel('Name of the runner').fill('box');
    await press(page, 'Make a token');
    const command = page.getByRole('dialog').locator('pre').first();
    await command.waitFor();
    await enroll((await command.innerText()).trim());
    await page.getByText('is here and has called.').waitFor({ timeout: WORK_MS });
    await press(page, 'Close');

    await goOn(page, 'A run succeeded');
    await page.getByRole('button', { name: 'New run' }).first().click();
    await page.getByLabel('Command', { exact: true }).fill("echo 'hello from the sandbox'");
    await page.keyboard.press('Enter');
    await page.getByText('hello from the sandbox', { exact: true }).waitFor({ timeout: WORK_MS });
    await page.getByText('Succeeded').first().waitFor({ timeout: WORK_MS });

    await page.getByRole('link', { name: 'Projects' }).first().click();
    await press(page, 'Create project');
    await page.getByLabel('Name').fill('web');
    await pressInDialog(page, 'Create project');
    await press(page, 'Create environment');
    await page.getByLabel('Name', { exact: true }).fill('production');
    const { url } = git.commit('web', await appTree({ 'index.html': 'hello from the console\n' }));
    await page.getByText(/^\d+ more fields$/).click();
    await page.getByLabel(/^Repository/).fill(url);
    await pressInDialog(page, 'Create environment');
    const tabs = page.getByRole('navigation', { name: 'Pages of production' });
    await tabs.getByRole('link', { name: 'Settings' }).click();
    await press(page, 'Update environment');
    const deploy = page.getByRole('group', { name: 'Deploy', exact: true });
    await deploy.getByLabel('Kind').selectOption('container');
    await deploy.getByLabel('App').fill(app);
    await pressInDialog(page, 'Update environment');

    await tabs.getByRole('link', { name: 'Builds' }).click();
    await press(page, 'Build now');
    await pressInDialog(page, 'Build');
    await page.getByText('==> done').waitFor({ timeout: WORK_MS });
    await tabs.getByRole('link', { name: 'Overview' }).click();
    // The runner says so within some seconds.
    await page.locator('.place-facts').getByText('Running', { exact: true }).waitFor({ timeout: WORK_MS });

    await page.goto('/console');
    const deployed = page.getByRole('row', { name: /web \/ production/ });
    const address = deployed.getByText(/^http:/);
    await address.waitFor();
    expect(await (await fetch(`${await address.innerText()}/index.html`)).text()).toBe(
      'hello from the console\n',
    );
    await page.locator('.setup-steps').waitFor({ state: 'detached' });
    await passes(page, 'the overview of a team that deploys');
    expect(complaints).toEqual([]);
  });
});
