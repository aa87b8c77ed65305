/** Pictures of the pages of runners and builds, with a team that has been at work for a while. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Console } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';

const ESC = '\u001b';
const MINUTE = 60_000;

const OUTPUT = [
  `${ESC}[1mSTEP 1/9:${ESC}[0m FROM docker.io/library/node:20-slim AS build`,
  `${ESC}[1mSTEP 2/9:${ESC}[0m WORKDIR /app`,
  `${ESC}[2m--> Using cache 3f5b1c0e2a${ESC}[0m`,
  `${ESC}[1mSTEP 3/9:${ESC}[0m COPY package.json package-lock.json ./`,
  `${ESC}[1mSTEP 4/9:${ESC}[0m RUN npm ci`,
  `${ESC}[33mnpm warn${ESC}[0m deprecated inflight@1.0.6: this module is not supported`,
  'added 412 packages in 9s',
  `${ESC}[1mSTEP 5/9:${ESC}[0m RUN npm run build`,
  `${ESC}[36m> shop@2.4.0 build${ESC}[0m`,
  `${ESC}[32m✓${ESC}[0m 1284 modules transformed.`,
  'dist/index.html                   0.62 kB │ gzip:  0.38 kB',
  'dist/assets/index-8f1c2d.js     142.77 kB │ gzip: 46.02 kB',
  `${ESC}[32m✓${ESC}[0m built in 4.31s`,
];

/** Takes a picture of the page as a whole, or of what is in view. */
export type Shoot = (page: Page, name: string, fullPage?: boolean) => Promise<void>;

export interface Scene {
  readonly fleet: Fleet;
  /** A build at work, and one that failed. */
  readonly running: string;
  readonly failed: string;
  readonly environmentId: string;
}

/** Takes some seconds: the server finds by itself that the second team is degraded. */
export async function playScene(console_: Console): Promise<Scene> {
  const fleet = await startFleet(console_, 'Shop');
  const environmentId = await fleet.environment('production', {
    deploy: { kind: 'container', app: 'shop' },
  });
  const runner = await fleet.runner('berlin-1');
  const path = `/environments/${environmentId}/builds`;
  await fleet.ok(`POST ${path}`, {});
  await runner.finish(await runner.take(), { address: 'http://10.0.0.7:32768' });
  await fleet.ok(`POST ${path}`, { commit: '4be1c9d07a3f5be2b6b1f6a0a4f1f9a64c1d2e3f' });
  const broken = await runner.take();
  await runner.beat(broken, 'cloning');
  await runner.beat(broken, 'building');
  await runner.log(
    broken,
    `${OUTPUT.slice(0, 8).join('\n')}\n${ESC}[31merror${ESC}[0m TS2304: Cannot find name 'basket'.\n`,
    0,
  );
  await runner.report(broken, {
    exitCode: 2,
    message: 'the build step "npm run build" ended with exit code 2',
  });
  const { id: running } = await fleet.ok<{ id: string }>(`POST ${path}`, {});
  const offer = await runner.take();
  await runner.beat(offer, 'cloning');
  await runner.log(offer, 'Cloning https://git.example.com/acme/shop, branch main\n', 0);
  await runner.beat(offer, 'building');
  await runner.log(
    offer,
    `${OUTPUT.join('\n')}\n`,
    'Cloning https://git.example.com/acme/shop, branch main\n'.length,
  );
  await roster(fleet);
  const { builds } = await fleet.ok<{ builds: Array<{ id: string; state: string }> }>(`GET ${path}`);
  return {
    fleet,
    running,
    failed: builds.find(({ state }) => state === 'failed')?.id ?? running,
    environmentId,
  };
}

async function roster(fleet: Fleet): Promise<void> {
  const now = Date.now();
  const add = async (name: string, columns: Readonly<Record<string, unknown>>): Promise<void> => {
    const { runnerId } = await fleet.runner(name);
    await fleet.set(runnerId, columns);
  };
  const ago = (minutes: number): Date => new Date(now - minutes * MINUTE);
  await add('berlin-2', {
    paused_at: ago(24),
    paused_until: new Date(now + 36 * MINUTE),
    pause_note: 'kernel update, back after lunch',
  });
  await add('dublin-1', { last_seen_at: ago(47), last_heartbeat_at: ago(47), version: '0.9.4' });
  await add('lab-arm', { not_ready: ['disk: 812 MB free, 2048 MB needed'] });
  await add('lab-old', { strikes: 3 });
  await add('new-box', { last_seen_at: null, last_heartbeat_at: null, version: '' });
}

export async function shootFleet(
  { fleet, running, failed, environmentId }: Scene,
  options: BrowserContextOptions,
  shoot: Shoot,
): Promise<void> {
  const { page, close } = await fleet.open(`/console/teams/${fleet.teamId}`, fleet.owner, options);
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  await shoot(page, 'overview');
  await page.goto(`/console/projects/${fleet.projectId}`);
  await page.locator('main h2').first().waitFor();
  await shoot(page, 'project');
  await page.goto(`/console/teams/${fleet.teamId}/members`);
  await page.locator('.rows tbody tr').first().waitFor();
  await shoot(page, 'members');
  await page.goto(`/console/teams/${fleet.teamId}/runners`);
  await page.getByText('lab-old').waitFor();
  await shoot(page, 'runners');
  await page.getByRole('button', { name: 'Enroll a runner' }).click();
  await page.getByLabel('Name of the runner').fill('berlin-3');
  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByRole('timer').waitFor();
  await shoot(page, 'enroll', false);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'berlin-1' }).click();
  await page.getByText('Build succeeded').waitFor();
  await shoot(page, 'runner', false);
  await page.goto(`/console/builds?env=${environmentId}`);
  await page.getByRole('link', { name: 'Build 3' }).waitFor();
  await shoot(page, 'builds');
  await page.goto(`/console/builds?env=${environmentId}&build=${running}`);
  await page.getByText('built in 4.31s').waitFor();
  await shoot(page, 'build');
  await page.goto(`/console/builds?env=${environmentId}&build=${failed}`);
  await page.getByText('Cannot find name').waitFor();
  await shoot(page, 'build-failed');
  await close();
}

/** Nobody is left to take the work, for long enough. */
export async function shootDegraded(console_: Console, { fleet }: Scene, shoot: Shoot): Promise<void> {
  await console_.server.db
    .sql`update runners set last_seen_at = now() - interval '14 minutes' where team_id = ${fleet.teamId} and last_seen_at is not null`;
  for (let n = 0; n < 3; n += 1)
    await fleet.ok(`POST /teams/${fleet.teamId}/sandbox-runs`, { command: ['true'] });
  const { page, close } = await fleet.open(`/console/runners?team=${fleet.teamId}`);
  await page.getByRole('heading', { name: /Work is stuck since/ }).waitFor({ timeout: 60_000 });
  await page.getByText('What waits, and why').click();
  await shoot(page, 'runners-degraded-1280-light');
  await close();
}
