/** A list of 10,000 rows is as quick as one of ten: both are worked in turn, and their medians compared. */
import { describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { median } from '../bench/figure.ts';
import { isConsoleHere, sharedConsole, type Console } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { measured, type MainThread } from './main-thread.ts';

const ROUNDS = 3;
const WITHIN_MS = 180_000;
/** Main-thread time from the click to the first rows, against that of ten rows. */
const OPEN_MAX = 2;
/** The longest task while scrolling through, against the longest of ten rows. */
const TASK_MAX = 3;
/** Places of the two in a pair that was measured. */
const [FEW, MANY] = [0, 1];
/** Rows of a page of the API. */
const ONE_PAGE = 50;
/** Pixels a frame: somebody drags the scroll bar. */
const STEP_PX = 4_000;

/** The team has so many connections. They are copies of one, which the API made. */
async function teamWith(console_: Console, rows: number): Promise<Fleet> {
  const fleet = await startFleet(console_);
  const id = await fleet.connect('github');
  await console_.server.db.sql`
    insert into ci_connections
    select copy.* from ci_connections one, generate_series(1, ${rows - 1}::int) n,
      jsonb_populate_record(one, jsonb_build_object(
        'id', left(one.id, -8) || lpad(n::text, 8, '0'),
        'repository_path', 'acme/r' || n, 'repository_key', one.repository_key || n)) copy
    where one.id = ${id}`;
  return fleet;
}

interface Worked {
  readonly page: Page;
  readonly rows: number;
}

const rowsOf = (page: Page) => page.getByRole('table', { name: 'CI connections' }).locator('.row-link');

async function opened({ page }: Worked): Promise<MainThread> {
  await page.getByRole('link', { name: 'Members', exact: true }).click();
  await page.getByRole('heading', { name: 'Members' }).waitFor();
  return await measured(page, async () => {
    await page.getByRole('link', { name: 'CI connections', exact: true }).click();
    await rowsOf(page).first().waitFor();
  });
}

/** Goes from the top to the end, frame by frame, and on as long as the list grows. */
async function scrolled({ page, rows }: Worked): Promise<MainThread> {
  await page.evaluate('scrollTo(0, 0)');
  const through = await measured(page, async () => {
    await page.evaluate(`new Promise((resolve) => {
      const step = () => {
        scrollBy(0, ${STEP_PX});
        const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
        if (isAtEnd && document.querySelector('main .older') === null) resolve();
        else requestAnimationFrame(step);
      };
      step();
    })`);
  });
  const counted = await page.locator('table.rows').getAttribute('aria-rowcount');
  expect(counted).toBe(rows > ONE_PAGE ? String(rows + 1) : null);
  return through;
}

async function worked(console_: Console, rows: number): Promise<Worked> {
  const fleet = await teamWith(console_, rows);
  const { page } = await fleet.open(`/console/teams/${fleet.teamId}/ci/connections`);
  await rowsOf(page).first().waitFor();
  return { page, rows };
}

describe.skipIf(!(await isConsoleHere()))('a list of 10,000 rows', () => {
  it(
    'opens and scrolls as one of ten does',
    async () => {
      const console_ = await sharedConsole();
      const few = await worked(console_, 10);
      const many = await worked(console_, 10_000);
      const opens: Array<readonly MainThread[]> = [];
      for (let round = 0; round < ROUNDS; round += 1) opens.push([await opened(few), await opened(many)]);
      // In the first round it grows from page to page.
      const throughs: typeof opens = [];
      for (let round = 0; round < ROUNDS; round += 1)
        throughs.push([await scrolled(few), await scrolled(many)]);
      console.log('main thread, of ten and of 10,000 rows:', JSON.stringify({ opens, throughs }));

      const medianOf = (all: typeof opens, at: number, of: keyof MainThread): number =>
        median(all.map((pair) => pair[at]?.[of] ?? Number.NaN));
      const longest = Math.max(medianOf(opens, FEW, 'longestMs'), medianOf(throughs, FEW, 'longestMs'));
      expect(medianOf(opens, MANY, 'totalMs')).toBeLessThanOrEqual(
        OPEN_MAX * medianOf(opens, FEW, 'totalMs'),
      );
      expect(medianOf(throughs, MANY, 'longestMs')).toBeLessThanOrEqual(TASK_MAX * longest);
    },
    WITHIN_MS,
  );
});
