/**
 * This rule says which line is the first error. It is the first that says so: a word such as `error`,
 * `fatal`, `panic` or `failed` that is no part of a path, an option or a longer word, and that no zero, `no`
 * or `without` takes back; an exit code other than 0; or the line in which the runner says that it ended a
 * build. If none does and the work did not succeed, it is the first line on standard error, which many
 * programs use for their progress: by itself it says nothing.
 */
import { plainOf } from './ansi.ts';
import type { Line } from './log-block.ts';

const SAYS =
  /(?<![\w./-])(?:[A-Za-z.]*(?:Error|Exception)|(?:error|ERROR|Failure|failure|FAILURE)s?|ERRORS|exception|[Ff]atal|FATAL|panic(?:ked)?|Traceback|[Ff]ailed|FAIL(?:ED)?|ERR!)(?![\w/(-]|\.\w|\s*[:=]\s*0\b)/g;
const TAKEN_BACK = /(?:^|[^\w.])(?:0|[Nn]o|[Ww]ithout|[Ii]gnor(?:e|es|ed|ing)|[Oo]n)\s+(?:\w+\s+)?$/;
const EXIT = /\b(?:exit(?:ed)?(?: with)?|returned) (?:code|status):? ?[1-9]/i;
const RUNNER_ENDED = '==> ended in ';
/** So much is looked at of a line, because an error begins with its word. */
const LOOKED_AT_CHARS = 1_000;

export function saysError({ kind, text }: Pick<Line, 'kind' | 'text'>): boolean {
  if (kind === 'mark' || kind === 'gap') return false;
  const plain = plainOf(text.slice(0, LOOKED_AT_CHARS));
  if (kind === 'runner') return plain.startsWith(RUNNER_ENDED);
  for (const { index } of plain.matchAll(SAYS))
    if (!TAKEN_BACK.test(plain.slice(Math.max(0, index - 40), index))) return true;
  return EXIT.test(plain);
}
