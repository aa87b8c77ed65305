/** Waits for what a page says. */
import type { Locator, Page } from 'playwright-core';

/** One of these is there and has the text. */
export const seen = async (of: Locator, text: string | RegExp): Promise<void> =>
  await of.filter({ hasText: text }).waitFor();

/** The page follows what happens. */
export const live = async (page: Page): Promise<void> =>
  await page.getByText('live', { exact: true }).waitFor();

/** A remark that the data of the page may no longer be true. */
export const unknownSince = async (page: Page): Promise<void> =>
  await seen(
    page.getByRole('status'),
    /Unknown since (?:\d+ \w+, )?\d\d:\d\d\..*Below is what was known then/s,
  );

/** Nothing was ever read, and trying again in vain says so again. */
export async function unread(page: Page, what: string): Promise<void> {
  const remark = page.getByRole('alert');
  await seen(remark, `${what} could not be read.`);
  // The click is in vain as long as nothing answers; after that the page may be faster than the hand.
  await page.getByRole('button', { name: 'Try again' }).click();
  await seen(remark, `${what} could not be read.`);
}
