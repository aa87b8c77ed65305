/**
 * Keeps what was found out about bytes, by their SHA-256: it never changes, and finding it out takes long.
 * The newest ones are kept.
 */
import { bounded } from '@svc/proto/process/bounded.ts';
export interface Kept<Found> {
  get(name: string): Found | undefined;
  keep(name: string, found: Found): void;
}

export function createKept<Found>(max: number): Kept<Found> {
  const all = new Map<string, Found>();
  return {
    get: (name) => all.get(name),
    keep: (name, found) => {
      all.delete(name);
      bounded(all, max).set(name, found);
    },
  };
}
