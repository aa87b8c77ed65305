/** Presses buttons as people do. */
import type { Page } from 'playwright-core';

export const press = async (page: Page, name: string): Promise<void> =>
  await page.getByRole('button', { name, exact: true }).click();

/** Presses a button of the dialog, which closes. */
export async function pressInDialog(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}
