/**
 * Composes text to documents of YAML, in bounded time whatever the text is: the number of tokens and the
 * depth are limited before anything is composed, and the first error ends it. The composer of `yaml` makes an
 * error with its stack for each place, which takes seconds for half a megabyte.
 */
import { Composer, isScalar, Lexer, Parser, type Document, type YAMLParseError } from 'yaml';
import { shorten } from './lines.ts';

export const DEPTH_MAX = 64;
/**
 * Words, signs, spaces and line ends: 300 KB of ordinary YAML, and up to half a second where nearly every
 * character is one.
 */
const TOKENS_MAX = 100_000;
/** Weight of a sign that opens a list or a map, which costs as much as so many others. */
const OPENING_WEIGHT = 8;
/**
 * Marks of the lexer itself, which stand for nothing in the text: a document begins, brackets end too early,
 * a scalar comes.
 */
const MARKS = new Set(['\x02', '\x18', '\x1f']);

/** It says why a file is not read, and where. */
export class Refused extends Error {
  readonly offset: number;
  /** True where a quote or a bracket is said to be wrong because what is between them is not indented. */
  readonly isIndentation: boolean;
  constructor(offset: number, message: string, isIndentation = false) {
    super(message);
    this.offset = offset;
    this.isIndentation = isIndentation;
  }
}

/**
 * Throws `Refused`. The library libyaml, by which CI systems read, minds no indentation between quotes and
 * brackets; `yaml` does, as the standard says: where that is what is wrong, the text is read once more
 * without.
 */
export function composeYaml(text: string): readonly Document.Parsed[] {
  const strict = tokensOf(text, new Lexer());
  try {
    return compose(text, strict);
  } catch (error) {
    if (!(error instanceof Refused) || !error.isIndentation) throw error;
    const loose = tokensOf(text, looseLexer());
    if (loose.length === strict.length && loose.every((token, index) => token === strict[index])) throw error;
    try {
      return compose(text, loose);
    } catch {
      throw error;
    }
  }
}

/** Returns true where nothing, or comments alone, stand between two `---`. */
export function isEmptyDocument({ contents }: Document.Parsed): boolean {
  return contents === null || (isScalar(contents) && contents.value === null && contents.source === '');
}

function tokensOf(text: string, lexer: Lexer): readonly string[] {
  const tokens: string[] = [];
  let offset = 0;
  let weight = 0;
  for (const token of lexer.lex(text)) {
    weight += token === '[' || token === '{' ? OPENING_WEIGHT : 1;
    if (weight > TOKENS_MAX)
      throw new Refused(offset, `more than ${TOKENS_MAX} words and signs, which is the limit`);
    tokens.push(token);
    if (token.length > 1 || !MARKS.has(token)) offset += token.length;
  }
  return tokens;
}

/** Part of the composer that its types keep to themselves. */
interface ComposerInside {
  onError: (
    ...fault: [
      source: number | readonly [number, number] | { readonly offset: number },
      code: YAMLParseError['code'],
      message: string,
      isWarning?: boolean,
    ]
  ) => void;
}

function compose(text: string, tokens: readonly string[]): readonly Document.Parsed[] {
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  let refused: Refused | undefined;
  // It is thrown from within, because an error that is only kept is followed by as many as there are tokens.
  // Some are caught there, and told once more.
  (composer as unknown as ComposerInside).onError = (...[source, code, message, isWarning]) => {
    if (isWarning === true) return;
    const offset =
      typeof source === 'number' ? source : 'offset' in source ? source.offset : (source[0] ?? 0);
    refused ??= syntaxError(text, { offset, message, code });
    throw refused;
  };
  const documents: Document.Parsed[] = [];
  for (const document of composer.compose(parsed(text, tokens)) as Iterable<Document.Parsed>) {
    const [error] = document.errors;
    if (error !== undefined)
      throw syntaxError(text, { ...error, offset: error.pos[0], message: error.message });
    documents.push(document);
  }
  return documents;
}

function* parsed(text: string, tokens: readonly string[]): ReturnType<Parser['parse']> {
  const parser = new Parser();
  for (const token of tokens) {
    yield* withoutErrors(text, parser.next(token));
    // The document itself is one of them. The time that parsing takes grows with the square of the depth.
    if (parser.stack.length > DEPTH_MAX + 1)
      throw new Refused(
        parser.offset - (MARKS.has(token) ? 0 : token.length),
        `nested more than ${DEPTH_MAX} levels deep, which is the limit`,
      );
  }
  yield* withoutErrors(text, parser.end());
}

function* withoutErrors(text: string, parts: ReturnType<Parser['parse']>): ReturnType<Parser['parse']> {
  for (const part of parts) {
    if (part.type === 'error') throw syntaxError(text, { ...part, code: 'UNEXPECTED_TOKEN' });
    yield part;
  }
}

interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
  readonly code: YAMLParseError['code'];
}

function syntaxError(text: string, { offset, message, code }: SyntaxFault): Refused {
  const [said = ''] = message.split('\n', 1);
  const lineStart = text.lastIndexOf('\n', Math.max(0, offset - 1)) + 1;
  const lineEnd = text.indexOf('\n', offset);
  const line = text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd);
  const hint = line.includes('{{') ? ': a template that is not filled in?' : '';
  const isIndentation = code === 'MISSING_CHAR' || code === 'BAD_INDENT';
  return new Refused(offset, `not YAML: ${shorten(said, 200)}${hint}`, isIndentation);
}

/** Part of the lexer that its types keep to themselves. */
interface LexerInside {
  /** The least indentation that the lines which follow need. */
  indentNext: number;
  parseQuotedScalar: () => Generator<string, unknown>;
  parseFlowCollection: () => Generator<string, unknown>;
}

function looseLexer(): Lexer {
  const lexer = new Lexer();
  const inside = lexer as unknown as LexerInside;
  for (const method of ['parseQuotedScalar', 'parseFlowCollection'] as const) {
    const strict = inside[method].bind(inside);
    inside[method] = function* () {
      const kept = inside.indentNext;
      inside.indentNext = 0;
      try {
        return yield* strict();
      } finally {
        inside.indentNext = kept;
      }
    };
  }
  return lexer;
}
