/** Reads one document of YAML, and so of JSON, as a plain value that knows where its parts stand. */
import { loadYaml } from './load.ts';
import type { Node } from './node.ts';

/** Place in a text, from line 1 and column 1 on. */
export interface YamlPlace {
  readonly line: number;
  readonly column: number;
}

export interface YamlProblem extends YamlPlace {
  readonly message: string;
}

export interface YamlDocument {
  readonly value: unknown;
  /**
   * Returns where a part stands, by its JSON pointer; of one that is not there, where the last part stands
   * that is on the way to it. A list or an object stands in the line of its key.
   */
  readonly placeOf: (pointer: string) => YamlPlace;
}

/**
 * Gives the document, or the first problem of the text. The limits of `loadYaml` hold: depth, aliases and all
 * that they stand for.
 */
export function readYaml(text: string): YamlDocument | { readonly problem: YamlProblem } {
  const { documents, problems, repeated } = loadYaml(text);
  const [problem] = problems;
  if (problem !== undefined) return { problem };
  const twice = repeated.find(({ isOtherCase }) => !isOtherCase);
  if (twice !== undefined) {
    const { line, column, key, first } = twice;
    return { problem: { line, column, message: `the key "${key}" is given twice, first in line ${first}` } };
  }
  const [document, another] = documents;
  if (document === undefined || another !== undefined) {
    const { line, column } = another ?? { line: 1, column: 1 };
    return { problem: { line, column, message: `it has ${documents.length} documents, expected one` } };
  }
  return { value: valueOf(document), placeOf: (pointer) => placeIn(document, pointer) };
}

/** Throws an error that says where the text is wrong. */
export function readYamlValue(text: string): unknown {
  const read = readYaml(text);
  if ('value' in read) return read.value;
  const { line, column, message } = read.problem;
  throw new Error(`line ${line}, column ${column}: ${message}`);
}

/** Goes as deep as was composed, which `loadYaml` bounds. */
function valueOf(node: Node): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(valueOf);
  // The map is not made by assignment, because a key may be called __proto__.
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, valueOf(value)]));
}

function placeIn(document: Node, pointer: string): YamlPlace {
  let node = document;
  let place: YamlPlace = document;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const entry = node.kind === 'map' ? node.byKey.get(key) : undefined;
    const next = node.kind === 'list' ? node.items[Number(key)] : entry?.value;
    if (next === undefined) break;
    node = next;
    const isBelow = entry !== undefined && next.kind !== 'scalar' && next.line !== entry.line;
    place = isBelow ? { line: entry.line, column: 1 } : next;
  }
  const { line, column } = place;
  return { line, column };
}
