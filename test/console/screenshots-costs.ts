/** Takes pictures of costs, and of the way from a statement to the receipt of a run. */
import type { BrowserContextOptions } from 'playwright-core';
import type { Bill } from './bill.ts';
import type { Fleet } from './fleet.ts';
import type { Shoot } from './screenshots-fleet.ts';

export interface Billed {
  readonly fleet: Fleet;
  readonly bill: Bill;
}

export async function shootCosts(
  { fleet, bill: { statementId, day, runId } }: Billed,
  options: BrowserContextOptions,
  shoot: Shoot,
): Promise<void> {
  const base = `/console/teams/${fleet.teamId}`;
  const { page, close } = await fleet.open(`${base}/costs`, fleet.owner, options);
  const region = (name: string) => page.getByRole('region', { name, exact: true });
  await region('By day').getByRole('slider').waitFor();
  await region('Statements').waitFor();
  await shoot(page, 'costs');
  for (const [at, name, shown] of [
    ['statements', 'statements', undefined],
    [`statements/${statementId}`, 'statement', 'By project'],
    [`statements/${statementId}/${day}`, 'statement-day', 'Runs and builds'],
    [`statements/${statementId}/${day}/${runId}`, 'receipt', 'Cost'],
  ] as const) {
    await page.goto(`${base}/${at}`);
    await (shown === undefined ? page.locator('main h1').first() : region(shown)).waitFor();
    await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
    await shoot(page, name);
  }
  await close();
}
