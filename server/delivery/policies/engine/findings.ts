/** A finding says what is wrong with an expression. */
export interface Finding {
  /** Characters before the place that is meant. */
  readonly position?: number;
  readonly message: string;
  /** The word that may have been meant. */
  readonly suggestion?: string;
}

/** Longer words are nobody's slip of a finger, and would cost time to compare. */
const WORD_MAX = 64;
const DISTANCE_MAX = 2;

/**
 * Finds the nearest of a few known words: at most two letters off, and never more than a third of the word.
 */
function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > WORD_MAX) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let least = Math.min(DISTANCE_MAX, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance >= least) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

/** Insertions, deletions and replacements that lead from one word to the other. */
function editDistance(from: string, to: string): number {
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced));
    }
    last = row;
  }
  return last[to.length] ?? 0;
}

export function suggestionOf(word: string, known: Iterable<string>): Pick<Finding, 'suggestion'> {
  const suggestion = nearest(word, known);
  return suggestion === undefined ? {} : { suggestion };
}
