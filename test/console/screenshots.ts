/**
 * This program takes the pictures of the console that docs/console shows, from a server with a few weeks of
 * history:
 *
 *     node --import tsx test/console/screenshots.ts [folder] [part]
 *
 * Parts are features, fleet, timeline, releases, costs and pages; without one it takes all.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { seedBill, twentieth } from './bill.ts';
import { closeBrowser, PHONE, startConsole, VIEWS } from './console.ts';
import { startFleet } from './fleet.ts';
import { shootCosts } from './screenshots-costs.ts';
import { playScene, shootDegraded, shootFleet } from './screenshots-fleet.ts';
import { furnish, shootPages } from './screenshots-pages.ts';
import { playPolicies, shootPolicies } from './screenshots-policies.ts';
import { playReleases, shootReleases } from './screenshots-releases.ts';
import { playTimeline, shootTimeline } from './screenshots-timeline.ts';
import { smallPng } from './small-png.ts';

const OUT = process.argv[2] ?? new URL('../../docs/console', import.meta.url).pathname;
/** Nobody calls while the pictures are taken, however long a busy machine takes over them. */
const PATIENT = { LEASE_MS: '600000', RUNNER_SILENT_MS: '600000' };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const ONLY = process.argv[3];

mkdirSync(OUT, { recursive: true });

async function shoot(page: Page, name: string, fullPage = true): Promise<void> {
  const png = await page.screenshot({ fullPage, animations: 'disabled' });
  writeFileSync(join(OUT, `${name}.png`), smallPng(png));
}

const PICTURES = VIEWS.map(([view, options]) => {
  const isMobile = options.viewport === PHONE;
  return {
    options: { ...options, isMobile, hasTouch: isMobile },
    shootIt: async (page: Page, what: string, fullPage?: boolean): Promise<void> =>
      await shoot(page, `${what}-${view.replace(' px, ', '-')}`, fullPage),
  };
});

const companion = createServer((_request, response) => {
  const shown = { enabled: false, blockedBy: [], visibility: 'public' };
  response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      features: {
        'ledger.attestations': { ...shown, enabled: true, reason: 'enabled', lifecycle: 'ga' },
        'ledger.residency': {
          ...shown,
          reason: 'dependency_disabled',
          lifecycle: 'preview',
          blockedBy: ['ledger.regions'],
        },
        'ledger.regions': { ...shown, reason: 'disabled', lifecycle: 'experimental' },
      },
    }),
  );
});
await new Promise<void>((resolve) => {
  companion.listen(0, '127.0.0.1', resolve);
});
async function shootFeatures(): Promise<void> {
  const console_ = await startConsole(
    { COMPANION_URL: `http://127.0.0.1:${(companion.address() as AddressInfo).port}` },
    21 * DAY,
  );
  const { move, passTime } = console_;

  await move('host.incidents', 'enabled', 'first customers are invited to try incidents');
  passTime(9 * DAY);
  await move('host.incidents', 'disabled', 'mitigation runs twice, see INC-40');
  passTime(4 * DAY);
  await move('host.ci', 'disabled', 'webhook storm of one provider, see INC-41');
  passTime(2 * HOUR);
  await move('host.ci', 'enabled', 'storm is over, deliveries are deduplicated now');
  passTime(6 * DAY);
  await move(
    'host.automation.maintenance',
    'enabled',
    'ready for the pilot repositories as soon as the job runner is',
  );
  passTime(DAY - 40 * 60_000);
  await move(
    'host.graph',
    'disabled',
    'edges of deleted environments are shown, fix is under review (#2214)',
  );
  passTime(38 * 60_000);

  for (const { options, shootIt } of PICTURES) {
    const signIn = await console_.open('/console/features', options);
    await signIn.page.getByRole('button', { name: 'Sign in' }).waitFor();
    await shootIt(signIn.page, 'sign-in');
    await signIn.close();
    const { page, close } = await console_.openAsStaff('/console/features', options);
    await page.getByRole('switch', { name: 'host.ci' }).waitFor();
    await page.getByText('ledger.regions', { exact: true }).waitFor();
    await shootIt(page, 'features');
    await page.getByRole('switch', { name: 'host.graph' }).click();
    await page.locator('.affected').waitFor();
    await page.getByLabel('Reason').fill('#2214 is merged and out, edges were checked on three projects');
    await shootIt(page, 'confirm', false);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'History of host.ci' }).click();
    await page.locator('.change').first().waitFor();
    await shootIt(page, 'history', false);
    await close();
  }
  companion.closeAllConnections();
  companion.close();
  passTime(30_000);
  const { page, close } = await console_.openAsStaff('/console/features');
  await page.getByText('The companion service is degraded').waitFor();
  await shoot(page, 'degraded-1280-light');
  await close();
  await console_.stop();
}

async function shootRunnersAndBuilds(): Promise<void> {
  const console_ = await startConsole({ ...PATIENT, RUNNER_STUCK_MS: '1000', RUNNER_WATCH_EVERY_MS: '500' });
  const scene = await playScene(console_);
  for (const { options, shootIt } of PICTURES) await shootFleet(scene, options, shootIt);
  await shootDegraded(console_, scene, shoot);
  await console_.stop();
}

async function shootTimelines(): Promise<void> {
  const console_ = await startConsole(PATIENT);
  const scene = await playTimeline(console_);
  for (const { options, shootIt } of PICTURES) await shootTimeline(scene, options, shootIt);
  await console_.stop();
}

async function shootReleasesPage(): Promise<void> {
  const console_ = await startConsole(PATIENT);
  const scene = await playReleases(console_);
  for (const { options, shootIt } of PICTURES) await shootReleases(scene, options, shootIt);
  const policyId = await playPolicies(console_, scene);
  for (const { options, shootIt } of PICTURES) await shootPolicies({ ...scene, policyId }, options, shootIt);
  await console_.stop();
}

async function shootMoney(): Promise<void> {
  const now = twentieth();
  const console_ = await startConsole(PATIENT, Date.now() - now.getTime());
  const fleet = await startFleet(console_);
  await fleet.ok(`PUT /teams/${fleet.teamId}/budgets`, { monthlyLimit: 400 });
  const bill = await seedBill(console_, fleet, now);
  for (const { options, shootIt } of PICTURES) await shootCosts({ fleet, bill }, options, shootIt);
  await console_.stop();
}

/** Two views show all that differs of pages from the contract. */
async function shootFromContract(): Promise<void> {
  const console_ = await startConsole(PATIENT);
  const scene = await furnish(console_);
  for (const picture of [PICTURES[0], PICTURES[3]])
    if (picture !== undefined) await shootPages(console_, scene, picture);
  await console_.stop();
}

const wanted = (what: string): boolean => ONLY === undefined || ONLY === what;
if (wanted('features')) await shootFeatures();
if (wanted('fleet')) await shootRunnersAndBuilds();
if (wanted('timeline')) await shootTimelines();
if (wanted('releases')) await shootReleasesPage();
if (wanted('costs')) await shootMoney();
if (wanted('pages')) await shootFromContract();
companion.closeAllConnections();
companion.close();
await closeBrowser();
console.log(`pictures are in ${OUT}`);
