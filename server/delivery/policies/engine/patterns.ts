/** What a pattern costs to compile, which is done when a document is written and once in the thread. */
import { compilePattern } from './language.ts';
import type { Finding } from './findings.ts';

const PATTERN_CHARS_MAX = 256;
/** Of all patterns of a document; a pattern of this cost compiles in some 50 ms. */
export const PATTERNS_COST_MAX = 10_000;
/** A class of Unicode has hundreds of ranges. */
const UNICODE_CLASS_COST = 100;

/** RE2 writes out what is repeated: `(a{10}){10}` is a hundred times `a`. */
export function costOf(pattern: string): number {
  const classes = pattern.match(/\\[pP]/g)?.length ?? 0;
  let cost = pattern.length + classes * UNICODE_CLASS_COST;
  for (const [, least = '', most = ''] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g))
    cost *= Math.max(1, Number(least), Number(most));
  return cost;
}

/** Undefined for a pattern that can be matched. `left`: cost that the patterns of the document before it have left over. */
export function problemOf(pattern: string, left: number): Finding | undefined {
  if (pattern.length > PATTERN_CHARS_MAX)
    return { message: `the pattern has ${pattern.length} characters: ${PATTERN_CHARS_MAX} are the limit` };
  if (costOf(pattern) > left)
    return {
      message: `the patterns of the document are too large: their lengths times their counts are ${PATTERNS_COST_MAX} at most`,
    };
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace('error parsing regexp: ', '') : 'unknown';
    return { message: `the pattern is none of RE2: ${why}` };
  }
}
