/** Finds what somebody may have meant: the nearest of a few known words. */
import { editDistance } from '@svc/proto/process/edit-distance.ts';

/** Allows two edits, and never more than a third of the word: further away it is a guess, not a typo. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(2, Math.max(1, Math.floor(word.length / 3))) + 1;
  for (const candidate of known) {
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best ?? onlyContinuation(lower, known);
}

/** Finds `developer` for `dev`: a beginning that only one word has. */
function onlyContinuation(beginning: string, known: readonly string[]): string | undefined {
  if (beginning.length < 3) return undefined;
  const found = known.filter((candidate) => candidate.toLowerCase().startsWith(beginning));
  return found.length === 1 ? found[0] : undefined;
}
