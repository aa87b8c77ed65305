/**
 * Reads words, strings and signs of a Jenkinsfile. Groovy is not parsed: comments and strings are told from
 * code, and brackets are paired.
 */
import { Lines } from './lines.ts';

export interface Token {
  readonly kind: 'word' | 'string' | 'sign';
  /** Text as written; of a string, what is between its quotes. */
  readonly text: string;
  /** 1-based. */
  readonly line: number;
  readonly column: number;
}

export interface Fault {
  readonly line: number;
  readonly column: number;
  readonly what: string;
}

export interface Tokens {
  readonly tokens: readonly Token[];
  /** Index of the other bracket of its pair, for each bracket. */
  readonly pairs: ReadonlyMap<number, number>;
  /** The first thing that Groovy could not read; what comes after it means nothing. */
  readonly fault?: Fault;
}

export function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === 'sign' && token.text === text;
}

/** Half a megabyte of an ordinary Jenkinsfile has some 100,000. */
const TOKENS_MAX = 150_000;

const SPACE = /\s+/y;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /\d[\w.]*/y;
const CLOSES: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
/** After these a `/` begins a pattern; elsewhere it divides. */
const BEFORE_PATTERN = new Set([...'(,=~[:{;?&|!+<>', 'return', 'in', 'case', 'assert']);
const QUOTES = ["'''", '"""', "'", '"'];

export function tokenize(text: string): Tokens {
  const lines = new Lines(text);
  const tokens: Token[] = [];
  const faultAt = (offset: number, what: string): Tokens => ({
    tokens,
    pairs: new Map(),
    fault: { ...lines.at(offset), what },
  });
  let index = text.startsWith('#!') ? lineEnd(text, 0) : 0;
  while (index < text.length) {
    if (tokens.length === TOKENS_MAX)
      return faultAt(index, `more than ${TOKENS_MAX} words and signs, which is the limit`);
    const found = nextToken(text, index, tokens.at(-1)?.text ?? '(');
    if ('fault' in found) return faultAt(index, found.fault);
    const { kind, from, to, end } = found;
    if (kind !== undefined) {
      const { line, column } = lines.at(index);
      tokens.push({ kind, text: text.slice(from, to), line, column });
    }
    index = end;
  }
  return { tokens, ...paired(tokens) };
}

type NextToken =
  | {
      /** Kind of the token; it is undefined for space or a comment. */
      readonly kind?: Token['kind'];
      readonly from: number;
      readonly to: number;
      readonly end: number;
    }
  | { readonly fault: string };

function nextToken(text: string, index: number, before: string): NextToken {
  const char = text[index] ?? '';
  const space = lengthOf(SPACE, text, index);
  if (space > 0) return passedOver(index + space);
  if (text.startsWith('//', index)) return passedOver(lineEnd(text, index));
  if (text.startsWith('/*', index)) {
    const end = text.indexOf('*/', index + 2);
    return end < 0 ? { fault: 'a comment, /*, that is not closed' } : passedOver(end + 2);
  }
  const quote = QUOTES.find((one) => text.startsWith(one, index));
  if (quote !== undefined) {
    const from = index + quote.length;
    const to = endOfString(text, from, quote);
    if (to < 0) return { fault: `a string, ${quote}, that is not closed` };
    return { kind: 'string', from, to, end: to + quote.length };
  }
  if (text.startsWith('$/', index)) {
    const to = text.indexOf('/$', index + 2);
    return to < 0
      ? { fault: 'a string, $/, that is not closed' }
      : { kind: 'string', from: index + 2, to, end: to + 2 };
  }
  if (char === '/' && BEFORE_PATTERN.has(before)) {
    const to = endOfString(text, index + 1, '/');
    if (to >= 0) return { kind: 'string', from: index + 1, to, end: to + 1 };
  }
  if (isControl(char)) {
    const code = char.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase();
    return { fault: `the character U+${code}, which is no code` };
  }
  const word = lengthOf(WORD, text, index) || lengthOf(NUMBER, text, index);
  const end = index + Math.max(1, word);
  return { kind: word > 0 ? 'word' : 'sign', from: index, to: end, end };
}

const passedOver = (end: number): NextToken => ({ from: end, to: end, end });

function lengthOf(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index;
  return pattern.test(text) ? pattern.lastIndex - index : 0;
}

function isControl(char: string): boolean {
  return char < ' ' || char === '\x7f' || char === '\uFFFD';
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/**
 * Finds where `quote` comes next, or returns -1: not behind a backslash and, within double quotes, not inside
 * of `${…}`, in which code stands that has strings of its own.
 */
function endOfString(text: string, from: number, quote: string): number {
  /**
   * Parts that are open, the innermost last: a string by its quotes, code by how many braces are open in it.
   */
  const open: (string | number)[] = [quote];
  for (let index = from; index < text.length; index++) {
    const top = open.at(-1);
    const char = text[index];
    if (typeof top === 'string') {
      if (char === '\\') index++;
      else if (char === '\n' && top.length === 1) return -1;
      else if (top.startsWith('"') && char === '$' && text[index + 1] === '{') {
        open.push(0);
        index++;
      } else if (text.startsWith(top, index)) {
        open.pop();
        if (open.length === 0) return index;
        index += top.length - 1;
      }
    } else if (typeof top === 'number') {
      const inner =
        char === '"' || char === "'" ? QUOTES.find((one) => text.startsWith(one, index)) : undefined;
      if (inner !== undefined) {
        open.push(inner);
        index += inner.length - 1;
      } else if (char === '}' && top === 0) open.pop();
      else if (char === '{' || char === '}') open[open.length - 1] = top + (char === '{' ? 1 : -1);
    }
  }
  return -1;
}

function paired(tokens: readonly Token[]): Pick<Tokens, 'pairs' | 'fault'> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'sign') continue;
    const { text, line, column } = token;
    if ('([{'.includes(text)) open.push(index);
    const opens = CLOSES[text];
    if (opens === undefined) continue;
    const other = open.pop();
    const opening = tokens[other ?? -1];
    if (other === undefined || opening === undefined)
      return { pairs, fault: { line, column, what: `a ${text} that closes nothing` } };
    if (opening.text !== opens) {
      const what = `a ${text} where the ${opening.text} of line ${opening.line} is not closed`;
      return { pairs, fault: { line, column, what } };
    }
    pairs.set(other, index);
    pairs.set(index, other);
  }
  const last = tokens[open.at(-1) ?? -1];
  if (last === undefined) return { pairs };
  const { line, column, text } = last;
  return { pairs, fault: { line, column, what: `a ${text} that is not closed` } };
}
