/**
 * Measures an expression before it is parsed: the parser recurses into brackets, and needs a tenth of a
 * second for a few thousand names or spaces. What is no token of CEL is refused here, so nothing reaches the
 * parser that was not counted.
 */
import type { Finding } from './findings.ts';

const CHARS_MAX = 4_096;
/** Names, literals, operators, lists, maps and indices of one expression. */
const NODES_MAX = 300;
const DEPTH_MAX = 32;
/** The length of spaces and comments together; the parser's time grows with their square. */
const SPACE_CHARS_MAX = 1_024;

const SPACE = /(?:[\t\n\f\r ]+|\/\/[^\r\n]*)+/y;
const QUOTE = /(?:[bB]?[rR]?|[rR][bB])("""|'''|"|')/y;
const WORD = /[A-Za-z_]\w*|0x[0-9A-Fa-f]+[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?[uU]?/y;
const OPERATOR = /&&|\|\||[=!<>]=|[-+*/%!<>?:.,]/y;
/** Parts that become no node of their own. */
const NO_NODE = new Set([':', '.', ',']);
const CLOSING = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

export interface Scanned {
  /** Parts of every kind. */
  readonly tokens: number;
}

export function scan(text: string): Scanned | Finding {
  if (text.length > CHARS_MAX)
    return { message: `the expression has ${text.length} characters: ${CHARS_MAX} are the limit` };
  const open: string[] = [];
  let tokens = 0;
  let nodes = 0;
  let spaceChars = 0;
  let at = 0;
  while (at < text.length) {
    const space = matchAt(SPACE, text, at);
    if (space !== undefined) {
      at += space[0].length;
      spaceChars += space[0].length;
      if (spaceChars > SPACE_CHARS_MAX)
        return { position: at, message: `more than ${SPACE_CHARS_MAX} characters are spaces and comments` };
      continue;
    }
    const position = at;
    const next = endOfToken(text, at);
    if (typeof next !== 'number') return next;
    const token = text.slice(at, next);
    at = next;
    tokens += 1;
    if (CLOSING.has(token)) open.push(token);
    else if (/^[)\]}]$/.test(token) && CLOSING.get(open.pop() ?? '') !== token)
      return { position, message: `"${token}" closes nothing that is open` };
    if (open.length > DEPTH_MAX)
      return { position, message: `brackets are nested more than ${DEPTH_MAX} deep` };
    if (!NO_NODE.has(token) && !/^[()\]}]$/.test(token)) nodes += 1 + escapesOf(token);
    if (nodes > NODES_MAX)
      return {
        position,
        message: `more than ${NODES_MAX} names, literals, operators and escaped characters are in one expression`,
      };
  }
  return { tokens };
}

/**
 * Finds the end of the token at a place. A string is found by its first closing quote, so an open one is
 * noticed at once.
 */
function endOfToken(text: string, at: number): number | Finding {
  const quote = matchAt(QUOTE, text, at);
  if (quote !== undefined) return endOfString(text, at, quote);
  const word = matchAt(WORD, text, at) ?? matchAt(OPERATOR, text, at);
  if (word !== undefined) return at + word[0].length;
  if (/[()[\]{}]/.test(text.charAt(at))) return at + 1;
  return { position: at, message: `"${String.fromCodePoint(text.codePointAt(at) ?? 0)}" means nothing here` };
}

function endOfString(text: string, position: number, [start, quote = '']: RegExpExecArray): number | Finding {
  const isRaw = /[rR]/.test(start);
  for (let at = position + start.length; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\' && !isRaw) at += 1;
    else if (quote.length === 1 && (char === '\n' || char === '\r')) break;
    else if (text.startsWith(quote, at)) return at + quote.length;
  }
  return { position, message: 'a text is not closed' };
}

const escapesOf = (token: string): number =>
  /["']$/.test(token) ? token.length - token.replaceAll('\\', '').length : 0;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
