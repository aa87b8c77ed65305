/** Makes lines of output: without colours, what a carriage return has overwritten, and times in front. */

/** Characters from the end of an output that are read. */
export const OUTPUT_MAX = 524_288;
/** Lines from the end that are looked at; with shorter ones than some 26 characters each, these are fewer. */
export const LINES_MAX = 20_000;
/** Characters of a line. */
const LINE_MAX = 1_000;

const ESCAPE = '\u001b';
const BELL = '\u0007';
const CODES = new RegExp(
  `${ESCAPE}(?:\\[[\\d;:?]{0,32}[ -/]{0,4}[@-~]|\\][^${BELL}${ESCAPE}]{0,200}(?:${BELL}|${ESCAPE}\\\\)|[@-Z\\\\^_])`,
  'g',
);
/** Times that CI systems, loggers and BuildKit put in front; each begins at the beginning of the line. */
const STAMPS = [
  /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?Z|[+-]\d\d:?\d\d)?[ \t]{0,4}/,
  /^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?[ \t]{1,4}/,
  /^\[\d{4}-\d\d-\d\d[T ][^\]]{1,32}\][ \t]{0,4}/,
  /^#\d{1,4} (?:\d{1,6}\.\d{1,3} )?/,
];

/** Lines that hold something, in their order. */
export function linesOf(output: string): readonly string[] {
  const lines: string[] = [];
  const start = Math.max(0, output.length - OUTPUT_MAX);
  for (let end = output.length; end > start && lines.length < LINES_MAX;) {
    const before = output.lastIndexOf('\n', end - 1);
    const from = Math.max(before + 1, start);
    const line = from < end ? cleaned(output.slice(from, end)) : '';
    if (line !== '') lines.push(line);
    end = before;
  }
  return lines.toReversed();
}

function cleaned(raw: string): string {
  let line = raw;
  if (line.includes('\r')) {
    line = line.endsWith('\r') ? line.slice(0, -1) : line;
    line = line.slice(line.lastIndexOf('\r') + 1);
  }
  if (line.length > LINE_MAX) line = line.slice(0, LINE_MAX);
  if (line.includes(ESCAPE)) line = line.replace(CODES, '');
  for (const stamp of STAMPS) if (mayBegin(line)) line = line.replace(stamp, '');
  return line.trimEnd();
}

/** A digit, `[` or `#`, with which every stamp begins. */
function mayBegin(line: string): boolean {
  const code = line.charCodeAt(0);
  return (code >= 48 && code <= 57) || code === 91 || code === 35;
}

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;
const OTHER_PRIME = 0x85ebca6b;
const [SPACE, TAB, HASH] = [32, 9, 35];

/**
 * Returns what two runs of the same step have in common in a line, as a number: a word with a digit in it
 * counts like each such word, and spaces do not count. It has 53 bits, so that lines of two outputs hardly
 * ever meet by chance. The loop is written for speed: it sees every character of two outputs.
 */
export function roughForm(line: string): number {
  let one = OFFSET;
  let two = PRIME;
  let oneBefore = one;
  let twoBefore = two;
  let inWord = false;
  let hasDigit = false;
  for (let at = 0; at <= line.length; at += 1) {
    const code = at < line.length ? line.charCodeAt(at) : SPACE;
    const isDigit = code >= 48 && code <= 57;
    const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95;
    if (isDigit || isLetter) {
      if (!inWord) {
        oneBefore = one;
        twoBefore = two;
        inWord = true;
        hasDigit = false;
      }
      if (isDigit) hasDigit = true;
    } else {
      if (inWord && hasDigit) {
        one = Math.imul(oneBefore ^ HASH, PRIME);
        two = Math.imul(twoBefore ^ HASH, OTHER_PRIME);
        two ^= two >>> 15;
      }
      inWord = false;
      if (code === SPACE || code === TAB) continue;
    }
    one = Math.imul(one ^ code, PRIME);
    two = Math.imul(two ^ code, OTHER_PRIME);
    two ^= two >>> 15;
  }
  return (one >>> 0) * 0x200000 + (two >>> 11);
}
