import { editDistance } from '@svc/proto/process/edit-distance.ts';

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

export function suggestionOf(word: string, known: Iterable<string>): Pick<Finding, 'suggestion'> {
  const suggestion = nearest(word, known);
  return suggestion === undefined ? {} : { suggestion };
}
