/**
 * Patterns of RE2 and what they cost to compile, which is some hundred times what it takes to match a name.
 */
import { RE2JS } from '@bufbuild/re2';
import type { Finding } from './findings.ts';

const PATTERN_CHARS_MAX = 256;
/** Cost of all patterns of a document; one of this cost compiles in less than 100 ms. */
export const PATTERNS_COST_MAX = 10_000;
/** The cost of the compiled patterns that are kept. At this cost they take some 10 MB. */
const KEPT_COST_MAX = 40_000;
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

const kept = new Map<string, RE2JS>();
let keptCost = 0;

/** Throws for a pattern that RE2 does not take. */
export function compilePattern(pattern: string): RE2JS {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const made = RE2JS.compile(pattern);
  keptCost += costOf(pattern);
  if (keptCost > KEPT_COST_MAX) {
    kept.clear();
    keptCost = costOf(pattern);
  }
  kept.set(pattern, made);
  return made;
}

/**
 * Undefined for a pattern that can be matched. `left`: cost that the patterns of the document before it have
 * left over.
 */
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
