/**
 * Reads YAML as CI systems write it: several documents, merge keys, tags of their own, keys that are given twice. What
 * comes from a repository is not trusted: depth and size are limited before anything is expanded.
 */
import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser } from 'yaml';
import type { Document, ParsedNode, YAMLMap, YAMLParseError } from 'yaml';
import { entriesOf } from './node.ts';
import type { Entry, ListNode, MapNode, Node, ScalarNode } from './node.ts';
import type { DefinitionProblem } from './types.ts';

/** Characters; GitHub ignores workflow files of more than 500 KB. */
export const TEXT_MAX = 512 * 1024;
/** The parser of YAML takes seconds for half a megabyte of next to nothing, line by line. */
export const LINES_MAX = 20_000;
export const DEPTH_MAX = 64;
/** Nodes of a file, each alias counted with all that it stands for. */
export const NODES_MAX = 50_000;
/** Of one file; of a file with more it is said that it has more. */
export const PROBLEMS_MAX = 50;

/** Comes before each scalar among the tokens. */
const SCALAR_MARK = '\x1f';

export interface LoadedYaml {
  readonly documents: readonly Node[];
  readonly problems: readonly DefinitionProblem[];
}

export function loadYaml(text: string): LoadedYaml {
  const problems: DefinitionProblem[] = [];
  let lines = new LineCounter();
  try {
    const { documents, error, ...composed } = composeEither(text);
    lines = composed.lines;
    if (error !== undefined) return { documents: [], problems: [syntaxProblem(lines, text, error)] };
    const reader: Reader = { lines, problems, anchors: new Map(), sizes: new Map(), merged: 0 };
    let size = 0;
    const nodes: Node[] = [];
    for (const document of documents) {
      reader.anchors.clear();
      if (isEmptyDocument(document)) continue;
      const node = read(reader, document.contents, 1);
      size += reader.sizes.get(node) ?? 1;
      if (size > NODES_MAX) throw new Refused(0, expandsTooFar());
      nodes.push(node);
    }
    return { documents: nodes, problems };
  } catch (error) {
    if (error instanceof Refused)
      return { documents: [], problems: [problemAt(lines, error.offset, 'error', error.message)] };
    // The parser has no other way of saying that nesting exhausted the stack.
    if (error instanceof RangeError) return { documents: [], problems: [tooDeep(1, 1)] };
    const message = `the file cannot be read as YAML: ${error instanceof Error ? error.message : String(error)}`;
    return { documents: [], problems: [{ line: 1, column: 1, message, severity: 'error' }] };
  }
}

interface Composed {
  readonly documents: readonly Document.Parsed[];
  /** The first one: what follows it is mostly a consequence. */
  readonly error: YAMLParseError | undefined;
  readonly lines: LineCounter;
}

/** What a quote or a bracket is said to be wrong with when what is between them is not indented. */
const INDENTED_TOO_LITTLE: readonly YAMLParseError['code'][] = ['MISSING_CHAR', 'BAD_INDENT'];

function composeEither(text: string): Composed {
  const strict = compose(text, new Lexer());
  if (strict.error === undefined || !INDENTED_TOO_LITTLE.includes(strict.error.code)) return strict;
  const loose = compose(text, looseLexer());
  return loose.error === undefined ? loose : strict;
}

function compose(text: string, lexer: Lexer): Composed {
  const lines = new LineCounter();
  lines.addNewLine(0);
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  const parser = new Parser(lines.addNewLine);
  // Before anything is parsed: the time that takes grows with the square of the depth.
  const tokens = tokensOf(text, lexer);
  const documents = [...composer.compose(parsed(parser, tokens))] as Document.Parsed[];
  const error = documents.find(({ errors }) => errors.length > 0)?.errors[0];
  return { documents, error, lines };
}

function* parsed(parser: Parser, tokens: readonly string[]): ReturnType<Parser['parse']> {
  let isBroken = false;
  for (const token of tokens) {
    for (const part of parser.next(token)) {
      yield part;
      isBroken ||= part.type === 'error';
    }
    // Half a megabyte of errors takes seconds, and the first one is enough.
    if (isBroken) break;
  }
  yield* parser.end();
}

/** Refuses brackets in brackets, and lists in lists that are written in one line (`- - - …`), both without end. */
function tokensOf(text: string, lexer: Lexer): readonly string[] {
  const tokens: string[] = [];
  let brackets = 0;
  let inLine = 0;
  let isScalar = false;
  for (const token of lexer.lex(text)) {
    tokens.push(token);
    const isSign = !isScalar && /^[-?:[\]{}]$/.test(token);
    // Anchors and tags may stand between them.
    if (isScalar || token === ',' || token.endsWith('\n')) inLine = 0;
    if (isSign && /[-?:]/.test(token)) inLine++;
    else if (isSign) brackets = Math.max(0, brackets + (/[[{]/.test(token) ? 1 : -1));
    if (Math.max(brackets, inLine) > DEPTH_MAX) throw new Refused(0, deepText());
    isScalar = token === SCALAR_MARK;
  }
  return tokens;
}

/** What the types of the lexer keep to themselves. */
interface LexerInside {
  /** The least indentation that the lines which follow need. */
  indentNext: number;
  parseQuotedScalar: () => Generator<string, unknown>;
  parseFlowCollection: () => Generator<string, unknown>;
}

/**
 * The library libyaml, by which CI systems read, minds no indentation between quotes and brackets; `yaml` does, as
 * the standard says.
 */
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

/** Nothing, or comments alone, between two `---`. */
function isEmptyDocument({ contents }: Document.Parsed): boolean {
  return contents === null || (isScalar(contents) && contents.value === null && contents.source === '');
}

class Refused extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

interface Reader {
  readonly lines: LineCounter;
  readonly problems: DefinitionProblem[];
  /** `undefined` while the node itself is being read. */
  readonly anchors: Map<string, Node | undefined>;
  readonly sizes: Map<Node, number>;
  /** Entries that came by `<<`, of all maps of the file. */
  merged: number;
}

type Parsed = ParsedNode | null;

function read(reader: Reader, source: Parsed, depth: number): Node {
  const offset = source?.range[0] ?? 0;
  if (depth > DEPTH_MAX) throw new Refused(offset, deepText());
  if (isAlias(source)) return aliased(reader, source.source, offset);
  const anchor = source === null ? undefined : source.anchor;
  if (anchor !== undefined) reader.anchors.set(anchor, undefined);
  const node = readFresh(reader, source, depth);
  if (anchor !== undefined) reader.anchors.set(anchor, node);
  if ((reader.sizes.get(node) ?? 1) > NODES_MAX) throw new Refused(offset, expandsTooFar());
  return node;
}

function aliased({ anchors }: Reader, name: string, offset: number): Node {
  const node = anchors.get(name);
  if (node !== undefined) return node;
  if (anchors.has(name)) throw new Refused(offset, `*${name} stands inside of what it names`);
  throw new Refused(offset, `*${name} names no anchor that was written before it`);
}

function readFresh(reader: Reader, source: Parsed, depth: number): Node {
  const place = placeOf(reader, source);
  if (isMap(source)) return readMap(reader, source as YAMLMap.Parsed, place, depth);
  if (isSeq(source)) {
    const items = source.items.map((item) => read(reader, item as Parsed, depth + 1));
    const node: ListNode = { kind: 'list', ...place, items };
    return measured(reader, node, items);
  }
  if (!isScalar(source))
    return { kind: 'scalar', ...place, value: null, text: '', isFolded: false } satisfies ScalarNode;
  const { value, source: written, type } = source;
  const plain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  const text = typeof value === 'string' ? value : (written ?? String(value ?? ''));
  const isFolded = type !== 'BLOCK_LITERAL' && place.line !== place.endLine;
  return { kind: 'scalar', ...place, value: plain ? value : null, text, isFolded };
}

function placeOf({ lines }: Reader, source: Parsed): Pick<ScalarNode, 'line' | 'column' | 'endLine' | 'tag'> {
  const [start, end] = source?.range ?? [0, 0];
  const { line, col } = lines.linePos(start);
  const endLine = Math.max(line, lines.linePos(Math.max(start, end - 1)).line);
  const tag = source?.tag;
  return { line: Math.max(1, line), column: Math.max(1, col), endLine, ...(tag !== undefined && { tag }) };
}

function readMap(
  reader: Reader,
  source: YAMLMap.Parsed,
  place: ReturnType<typeof placeOf>,
  depth: number,
): MapNode {
  const own = new Map<string, Entry>();
  const merged: Node[] = [];
  for (const { key, value } of source.items) {
    const keyNode = read(reader, key, depth + 1);
    const offset = key?.range[0] ?? 0;
    if (keyNode.kind !== 'scalar')
      throw new Refused(offset, `a ${keyNode.kind} cannot be a key here: a template that is not filled in?`);
    const node = read(reader, value, depth + 1);
    // A value that is missing stands where its key does.
    const entry = {
      key: keyNode.text,
      line: keyNode.line,
      value: value === null ? { ...node, ...placeOf(reader, key) } : node,
    };
    if (entry.key === '<<' && isScalar(key) && key.type === 'PLAIN') merged.push(node);
    else {
      if (own.has(entry.key)) {
        const first = own.get(entry.key)?.line ?? 0;
        const message = `the key "${shorten(entry.key)}" was given before, in line ${first}: the last one counts`;
        // One more than is shown, so that it can be told that there are more.
        if (reader.problems.length <= PROBLEMS_MAX)
          reader.problems.push(problemAt(reader.lines, offset, 'warning', message));
      }
      own.set(entry.key, entry);
    }
  }
  for (const from of merged) merge(reader, own, from, source.range[0]);
  const entries = [...own.values()];
  const node: MapNode = {
    kind: 'map',
    ...place,
    entries,
    byKey: own,
    ...(merged.length > 0 && { hasMerge: true }),
  };
  return measured(
    reader,
    node,
    entries.map(({ value }) => value),
  );
}

/** Maps that are merged may hold what was merged before: counted before each, not when the file is read. */
function merge(reader: Reader, own: Map<string, Entry>, from: Node, offset: number): void {
  for (const part of from.kind === 'list' ? from.items : [from]) {
    const entries = entriesOf(part);
    reader.merged += 1 + entries.length;
    if (reader.merged > NODES_MAX) throw new Refused(offset, expandsTooFar());
    for (const entry of entries) if (!own.has(entry.key)) own.set(entry.key, entry);
  }
}

function measured<T extends Node>({ sizes }: Reader, node: T, children: readonly Node[]): T {
  sizes.set(
    node,
    children.reduce((sum, child) => sum + (sizes.get(child) ?? 1), 1),
  );
  return node;
}

function problemAt(
  lines: LineCounter,
  offset: number,
  severity: DefinitionProblem['severity'],
  message: string,
): DefinitionProblem {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col), message, severity };
}

function tooDeep(line: number, column: number): DefinitionProblem {
  return { line, column, message: deepText(), severity: 'error' };
}

const deepText = (): string => `nested more than ${DEPTH_MAX} levels deep, which is the limit`;
const expandsTooFar = (): string =>
  `more than ${NODES_MAX} nodes once its aliases are expanded, which is the limit`;

function syntaxProblem(lines: LineCounter, text: string, error: YAMLParseError): DefinitionProblem {
  const { line, ...rest } = problemAt(lines, error.pos[0], 'error', '');
  const [said = ''] = error.message.split('\n');
  const hint = /\{\{/.test(text.split('\n')[line - 1] ?? '') ? ': a template that is not filled in?' : '';
  return { ...rest, line, message: `not YAML: ${shorten(said, 200)}${hint}` };
}

export function shorten(text: string, max = 80): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
