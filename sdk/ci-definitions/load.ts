/**
 * Reads YAML as CI systems write it: several documents, merge keys, tags of their own, keys that are given
 * twice. What comes from a repository is not trusted: depth and size are limited before anything is expanded.
 */
import { isAlias, isMap, isScalar, isSeq, type ParsedNode, type YAMLMap } from 'yaml';
import { composeYaml, isEmptyDocument, Refused } from './compose.ts';
import { Lines } from './lines.ts';
import { entriesOf, type Entry, type ListNode, type MapNode, type Node, type ScalarNode } from './node.ts';
import type { DefinitionProblem } from './types.ts';

/** Nodes of a file, each alias counted with all that it stands for. */
const NODES_MAX = 50_000;
/** Characters of its keys and values, counted likewise: twice what a file without aliases can have. */
const CHARACTERS_MAX = 1_048_576;
/** Most problems of one file; of a file with more it is said that it has more. */
export const PROBLEMS_MAX = 50;

/** Repeated keys of one file that are told of; conditions of Azure may be many that count for nothing. */
const REPEATED_MAX = 1000;

/** A key that its map has already, the case of its letters aside. */
export interface Repeated {
  readonly line: number;
  readonly column: number;
  readonly key: string;
  /** Line of the one before. */
  readonly first: number;
  /** The one before is spelled with other cases: for most systems it is another key. */
  readonly isOtherCase: boolean;
}

export interface LoadedYaml {
  readonly documents: readonly Node[];
  /** With one, there are no documents. */
  readonly problems: readonly DefinitionProblem[];
  readonly repeated: readonly Repeated[];
  /** The first anchor. */
  readonly anchor?: { readonly line: number; readonly column: number; readonly name: string };
}

export function loadYaml(text: string): LoadedYaml {
  const lines = new Lines(text);
  try {
    const reader: Reader = {
      lines,
      repeated: [],
      anchors: new Map(),
      sizes: new Map(),
      merged: 0,
      keyCharacters: 0,
    };
    let size = NOTHING;
    const documents: Node[] = [];
    for (const document of composeYaml(text)) {
      reader.anchors.clear();
      if (isEmptyDocument(document)) continue;
      const node = read(reader, document.contents);
      size = sum(size, sizeOf(reader, node));
      assertSize(size, document.range[0]);
      documents.push(node);
    }
    const { repeated, anchor } = reader;
    return { documents, problems: [], repeated, ...(anchor && { anchor }) };
  } catch (error) {
    const place = error instanceof Refused ? lines.at(error.offset) : { line: 1, column: 1 };
    const said = error instanceof Error ? error.message : String(error);
    const message = error instanceof Refused ? said : `the file cannot be read as YAML: ${said}`;
    return { documents: [], problems: [{ ...place, message, severity: 'error' }], repeated: [] };
  }
}

interface Reader {
  readonly lines: Lines;
  readonly repeated: Repeated[];
  anchor?: LoadedYaml['anchor'];
  /** `undefined` while the node itself is being read. */
  readonly anchors: Map<string, Node | undefined>;
  readonly sizes: Map<Node, Size>;
  /** Entries that came by `<<`, of all maps of the file. */
  merged: number;
  /** The characters of keys as they were read, those that an alias stands for included. */
  keyCharacters: number;
}

/** Size of a node with all that aliases stand for. */
interface Size {
  readonly nodes: number;
  readonly characters: number;
}

const NOTHING: Size = { nodes: 0, characters: 0 };

const sum = (a: Size, b: Size): Size => ({
  nodes: a.nodes + b.nodes,
  characters: a.characters + b.characters,
});

function sizeOf({ sizes }: Reader, node: Node): Size {
  return sizes.get(node) ?? { nodes: 1, characters: node.kind === 'scalar' ? node.text.length : 0 };
}

function assertSize({ nodes, characters }: Size, offset: number): void {
  if (nodes > NODES_MAX) throw new Refused(offset, expandsTooFar());
  if (characters > CHARACTERS_MAX)
    throw new Refused(
      offset,
      `more than ${CHARACTERS_MAX} characters once its aliases are expanded, which is the limit`,
    );
}

type Parsed = ParsedNode | null;

/** Not deeper than what was composed. */
function read(reader: Reader, source: Parsed): Node {
  const offset = source?.range[0] ?? 0;
  if (isAlias(source)) return aliased(reader, source.source, offset);
  const anchor = source === null ? undefined : source.anchor;
  if (anchor !== undefined) {
    reader.anchors.set(anchor, undefined);
    reader.anchor ??= { ...reader.lines.at(offset), name: anchor };
  }
  const node = readFresh(reader, source);
  if (anchor !== undefined) reader.anchors.set(anchor, node);
  assertSize(sizeOf(reader, node), offset);
  return node;
}

function aliased({ anchors }: Reader, name: string, offset: number): Node {
  const node = anchors.get(name);
  if (node !== undefined) return node;
  if (anchors.has(name)) throw new Refused(offset, `*${name} stands inside of what it names`);
  throw new Refused(offset, `*${name} names no anchor that was written before it`);
}

function readFresh(reader: Reader, source: Parsed): Node {
  const place = placeOf(reader, source);
  if (isMap(source)) return readMap(reader, source as YAMLMap.Parsed, place);
  if (isSeq(source)) {
    const items = source.items.map((item) => read(reader, item as Parsed));
    const node: ListNode = { kind: 'list', ...place, items };
    return measured(reader, node, { children: items, keyCharacters: 0 });
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
  const { line, column } = lines.at(start);
  const endLine = lines.at(Math.max(start, end - 1)).line;
  const tag = source?.tag;
  return { line, column, endLine, ...(tag !== undefined && { tag }) };
}

function readMap(reader: Reader, source: YAMLMap.Parsed, place: ReturnType<typeof placeOf>): MapNode {
  const own = new Map<string, Entry>();
  /** Lines, by keys in lower case. */
  const firsts = new Map<string, number>();
  const merged: Node[] = [];
  for (const { key, value } of source.items) {
    const keyNode = read(reader, key);
    const offset = key?.range[0] ?? 0;
    if (keyNode.kind !== 'scalar')
      throw new Refused(offset, `a ${keyNode.kind} cannot be a key here: a template that is not filled in?`);
    reader.keyCharacters += keyNode.text.length;
    assertSize({ nodes: 0, characters: reader.keyCharacters }, offset);
    const node = read(reader, value);
    // A value that is missing stands where its key does.
    const entry = {
      key: keyNode.text,
      line: keyNode.line,
      value: value === null ? { ...node, ...placeOf(reader, key) } : node,
    };
    if (entry.key === '<<' && isScalar(key) && key.type === 'PLAIN') merged.push(node);
    else {
      const folded = entry.key.toLowerCase();
      const first = firsts.get(folded);
      if (first === undefined) firsts.set(folded, entry.line);
      else if (reader.repeated.length < REPEATED_MAX) {
        const isOtherCase = !own.has(entry.key);
        reader.repeated.push({ ...reader.lines.at(offset), key: entry.key, first, isOtherCase });
      }
      own.set(entry.key, entry);
    }
  }
  for (const from of merged) merge(reader, own, { from, offset: source.range[0] });
  const entries = [...own.values()];
  const node: MapNode = {
    kind: 'map',
    ...place,
    entries,
    byKey: own,
    ...(merged.length > 0 && { hasMerge: true }),
  };
  return measured(reader, node, {
    children: entries.map(({ value }) => value),
    keyCharacters: entries.reduce((characters, { key }) => characters + key.length, 0),
  });
}

/** Maps that are merged may hold what was merged before: counted before each, not when the file is read. */
function merge(
  reader: Reader,
  own: Map<string, Entry>,
  { from, offset }: { readonly from: Node; readonly offset: number },
): void {
  for (const part of from.kind === 'list' ? from.items : [from]) {
    const entries = entriesOf(part);
    reader.merged += 1 + entries.length;
    if (reader.merged > NODES_MAX) throw new Refused(offset, expandsTooFar());
    for (const entry of entries) if (!own.has(entry.key)) own.set(entry.key, entry);
  }
}

function measured<T extends Node>(
  reader: Reader,
  node: T,
  { children, keyCharacters }: { readonly children: readonly Node[]; readonly keyCharacters: number },
): T {
  const own: Size = { nodes: 1, characters: keyCharacters };
  const size = children.reduce((all, child) => sum(all, sizeOf(reader, child)), own);
  reader.sizes.set(node, size);
  return node;
}

const expandsTooFar = (): string =>
  `more than ${NODES_MAX} nodes once its aliases are expanded, which is the limit`;
