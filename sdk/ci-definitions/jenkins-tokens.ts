/** Words, strings and signs of a Jenkinsfile. Groovy is not parsed: comments and strings are told from code, no more. */

export interface Token {
  readonly kind: 'word' | 'string' | 'sign';
  /** Of a string, what is between its quotes, as written. */
  readonly text: string;
  /** 1-based. */
  readonly line: number;
  readonly column: number;
}

export interface Tokens {
  readonly tokens: readonly Token[];
  /** A comment or a string that never ends. */
  readonly unclosed: readonly {
    readonly line: number;
    readonly column: number;
    readonly what: string;
    readonly isFatal: boolean;
  }[];
}

const WORD = /[A-Za-z_$][\w$]*/y;
/** After these a `/` begins a pattern; elsewhere it divides. */
const BEFORE_PATTERN = new Set(['(', ',', '=', '~', '[', ':', '{', ';', 'return']);

export function tokenize(text: string): Tokens {
  const tokens: Token[] = [];
  const unclosed: Tokens['unclosed'][number][] = [];
  let index = 0;
  let line = 1;
  let lineStart = 0;

  const skipTo = (end: number): void => {
    for (; index < end; index++)
      if (text.charCodeAt(index) === 10) {
        line++;
        lineStart = index + 1;
      }
  };
  const take = (kind: Token['kind'], from: number, to: number, end: number): void => {
    tokens.push({ kind, text: text.slice(from, to), line, column: index - lineStart + 1 });
    skipTo(end);
  };
  const miss = (what: string, isFatal: boolean): void => {
    unclosed.push({ line, column: index - lineStart + 1, what, isFatal });
  };
  const quoted = (quote: string): void => {
    const end = endOfString(text, index + quote.length, quote);
    if (end.isClosed) return take('string', index + quote.length, end.at, end.at + quote.length);
    miss(`${quote} is not closed`, quote.length > 1);
    take('string', index + quote.length, end.at, end.at);
  };

  if (text.startsWith('#!')) skipTo(lineEnd(text, 0));
  while (index < text.length) {
    const char = text[index] ?? '';
    if (/\s/.test(char)) skipTo(index + 1);
    else if (text.startsWith('//', index)) skipTo(lineEnd(text, index));
    else if (text.startsWith('/*', index)) {
      const end = text.indexOf('*/', index + 2);
      if (end < 0) miss('/* is not closed', true);
      skipTo(end < 0 ? text.length : end + 2);
    } else if (text.startsWith("'''", index)) quoted("'''");
    else if (text.startsWith('"""', index)) quoted('"""');
    else if (char === "'" || char === '"') quoted(char);
    else if (text.startsWith('$/', index)) {
      const end = text.indexOf('/$', index + 2);
      if (end < 0) miss('$/ is not closed', true);
      take('string', index + 2, end < 0 ? text.length : end, end < 0 ? text.length : end + 2);
    } else if (char === '/' && BEFORE_PATTERN.has(tokens.at(-1)?.text ?? '(')) {
      const end = endOfString(text, index + 1, '/');
      if (end.isClosed) take('string', index + 1, end.at, end.at + 1);
      else take('sign', index, index + 1, index + 1);
    } else {
      WORD.lastIndex = index;
      const length = WORD.exec(text)?.[0].length ?? 0;
      take(length > 0 ? 'word' : 'sign', index, index + Math.max(1, length), index + Math.max(1, length));
    }
  }
  return { tokens, unclosed };
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** Where `quote` comes next: not behind a backslash and, within double quotes, not inside of `${…}`. */
function endOfString(text: string, from: number, quote: string): { at: number; isClosed: boolean } {
  const isOneLine = quote.length === 1;
  const isTemplate = quote.startsWith('"');
  let depth = 0;
  let end = 0;
  for (let index = from; index < text.length; index++) {
    const char = text[index];
    if (char === '\\') index++;
    else if (isOneLine && char === '\n') return { at: index, isClosed: false };
    else if (isTemplate && char === '$' && text[index + 1] === '{') {
      depth++;
      index++;
    } else if (depth > 0 && (char === '"' || char === "'")) {
      // A string within the expression, which ends in the same line.
      if (end <= index) end = lineEnd(text, index);
      const close = text.indexOf(char, index + 1);
      if (close > 0 && close < end) index = close;
    } else if (depth > 0 && char === '{') depth++;
    else if (depth > 0 && char === '}') depth--;
    else if (depth === 0 && text.startsWith(quote, index)) return { at: index, isClosed: true };
  }
  return { at: text.length, isClosed: false };
}
