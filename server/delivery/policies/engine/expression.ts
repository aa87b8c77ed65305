/**
 * Reads one expression: measures it, parses it, and checks what it names against the input. Nothing is run.
 */
import { parse } from '@bufbuild/cel';
import { check, type Budget } from './check.ts';
import type { Finding } from './findings.ts';
import { scan } from './scan.ts';

/**
 * Tokens that the expressions of one document may have together: at this many, all of them are parsed in some
 * 100 ms.
 */
export const TOKENS_MAX = 4_000;

export interface Budgets extends Budget {
  tokensLeft: number;
}

export function problemsOfExpression(text: string, budgets: Budgets): readonly Finding[] {
  const scanned = scan(text);
  if ('message' in scanned) return [scanned];
  budgets.tokensLeft -= scanned.tokens;
  if (budgets.tokensLeft < 0)
    return [
      { message: `the expressions of the document have more than ${TOKENS_MAX} words and signs together` },
    ];
  let parsed;
  try {
    parsed = parse(text);
  } catch (error) {
    return [syntaxProblem(text, error)];
  }
  return check(parsed, text, budgets);
}

/** The parser's own message lists everything that it could have read instead. */
function syntaxProblem(text: string, error: unknown): Finding {
  const location = (error as { location?: { start?: { offset?: unknown } } } | null)?.location;
  const position = location?.start?.offset;
  if (typeof position !== 'number')
    return { message: `cannot be parsed: ${error instanceof Error ? error.message : 'unknown'}` };
  const found = position >= text.length ? 'its end' : `"${text.slice(position, position + 20)}"`;
  return { position, message: `cannot be parsed: ${found} does not continue what is before it` };
}
