/** This view shows the companion service's features below ours: there, away, and back. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { isConsoleHere, startConsole, type OwnConsole } from './console.ts';
import { seen } from './seen.ts';

/** The server asks the companion at most so often. */
const ASKED_EVERY_MS = 10_000;

/** Waits until every feature of our own is there, and no more of them. */
async function allOurs(page: Page): Promise<void> {
  const switches = page.getByRole('switch');
  await switches.nth(MANIFEST.length - 1).waitFor();
  await expect.poll(() => switches.count()).toBe(MANIFEST.length);
}

describe.skipIf(!(await isConsoleHere()))('features of the companion service', () => {
  let companion: Server;
  let console_: OwnConsole;
  /** It is undefined while the service answers nothing. */
  let answer: { status: number; body: unknown } | undefined;

  beforeAll(async () => {
    companion = createServer((_request, response) => {
      if (answer === undefined) return response.destroy();
      const headers = { 'content-type': 'application/json' };
      return response.writeHead(answer.status, headers).end(JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => {
      companion.listen(0, '127.0.0.1', resolve);
    });
    const { port } = companion.address() as AddressInfo;
    console_ = await startConsole({ COMPANION_URL: `http://127.0.0.1:${port}` });
  });
  afterAll(async () => {
    await console_.stop();
    companion.closeAllConnections();
    companion.close();
  });

  it('are unknown, and not none, when it never answered', async () => {
    const { page } = await console_.openAsStaff('/console/features');
    const section = page.getByRole('region', { name: 'Companion service' });
    await section.getByText('Its features are unknown.').waitFor();
    await expect.poll(() => section.getByRole('table').count()).toBe(0);
    await allOurs(page);
  });

  it('are shown read-only, as of when, and as degraded while it does not answer', async () => {
    answer = {
      status: 200,
      body: {
        features: {
          'ledger.attestations': { enabled: true, reason: 'enabled', lifecycle: 'ga', visibility: 'public' },
          'ledger.residency': {
            enabled: false,
            reason: 'dependency_disabled',
            blockedBy: ['ledger.regions'],
          },
          'ledger.search': true,
        },
      },
    };
    console_.passTime(ASKED_EVERY_MS);
    const { page } = await console_.openAsStaff('/console/features');
    const section = page.getByRole('region', { name: 'Companion service' });
    const table = section.getByRole('table');
    await table.waitFor();
    await section.getByText(/Read-only · as of (?:\d+ \w+, )?\d\d:\d\d/).waitFor();
    await expect.poll(() => table.getByRole('switch').count()).toBe(0);
    await expect
      .poll(() => table.getByRole('rowheader').allTextContents())
      .toEqual(['ledger.attestations', 'ledger.residency', 'ledger.search']);
    await table.getByText('Blocked by ledger.regions').waitFor();

    answer = { status: 500, body: {} };
    console_.passTime(ASKED_EVERY_MS);
    await page.reload();
    const notice = section.getByRole('status').filter({ hasText: 'The companion service is degraded' });
    await seen(notice, 'it answered with status 500');
    await expect.poll(() => table.getByRole('row').count()).toBe(4);
    // Our own features do not depend on it.
    await allOurs(page);

    answer = { status: 200, body: { features: { 'ledger.search': true } } };
    console_.passTime(ASKED_EVERY_MS);
    await notice.getByRole('button', { name: 'Try again' }).click();
    await notice.waitFor({ state: 'detached' });
    await expect.poll(() => table.getByRole('row').count()).toBe(2);
  });
});
