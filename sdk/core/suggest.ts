/** Finds what somebody may have meant: the nearest of a few known words. */

/**
 * Counts insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
 */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_unused, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1];
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length] ?? 0;
}

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
