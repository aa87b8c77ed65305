/**
 * Pages that are in the navigation only when the server answers what they show: nobody learns of others that
 * they could exist.
 */
import { signal } from '@preact/signals';
import type { ConsolePage } from './page.ts';
import { onForget } from './session.ts';

export const available = signal<ReadonlySet<ConsolePage>>(new Set());

let owner = 0;
onForget(() => {
  owner += 1;
  available.value = new Set();
});

export async function findAvailable(pages: readonly ConsolePage[]): Promise<void> {
  const asker = owner;
  const answers = await Promise.all(
    // A server that cannot be asked has not said yes.
    pages.map(async (page) => (await page.isThere?.().catch(() => false)) === true),
  );
  if (asker === owner) available.value = new Set(pages.filter((_page, index) => answers[index]));
}
