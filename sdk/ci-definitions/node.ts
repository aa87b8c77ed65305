/**
 * YAML as plain nodes that know where they stand. Aliases and merge keys are gone: an alias is the very node
 * it names.
 */

interface Place {
  /** 1-based. */
  readonly line: number;
  readonly column: number;
  /** Last line of the node. */
  readonly endLine: number;
  readonly tag?: string;
}

export interface ScalarNode extends Place {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  /** As written for what is not text, so that a job `3.10` keeps its zero. */
  readonly text: string;
  /** `>`: line ends are spaces. */
  readonly isFolded: boolean;
}

export interface ListNode extends Place {
  readonly kind: 'list';
  readonly items: readonly Node[];
}

export interface Entry {
  readonly key: string;
  readonly line: number;
  readonly value: Node;
}

export interface MapNode extends Place {
  readonly kind: 'map';
  /** Entries in the order of the file, each key once. */
  readonly entries: readonly Entry[];
  readonly byKey: ReadonlyMap<string, Entry>;
  /** Some of them came by `<<`. */
  readonly hasMerge?: true;
}

export type Node = ScalarNode | ListNode | MapNode;

export function entriesOf(node: Node | undefined): readonly Entry[] {
  return node?.kind === 'map' ? node.entries : [];
}

export function itemsOf(node: Node | undefined): readonly Node[] {
  return node?.kind === 'list' ? node.items : [];
}

/** It returns the one node, or those of a list. */
export function manyOf(node: Node | undefined): readonly Node[] {
  if (node === undefined || (node.kind === 'scalar' && node.value === null)) return [];
  return node.kind === 'list' ? node.items : [node];
}

export function at(node: Node | undefined, ...keys: readonly string[]): Node | undefined {
  let found = node;
  for (const key of keys) found = entryOf(found, key)?.value;
  return found;
}

export function entryOf(node: Node | undefined, key: string): Entry | undefined {
  return node?.kind === 'map' ? node.byKey.get(key) : undefined;
}

/** Returns the text of a scalar that is not null. */
export function textOf(node: Node | undefined): string | undefined {
  return node?.kind === 'scalar' && node.value !== null ? node.text : undefined;
}

/** It returns the words of `word`, `[word, word]` or `{word: …}`. */
export function wordsOf(node: Node | undefined): readonly string[] {
  if (node?.kind === 'map') return node.entries.map(({ key }) => key);
  return manyOf(node).flatMap((item) => textOf(item) ?? entriesOf(item).map(({ key }) => key));
}

export function unique(words: readonly string[]): readonly string[] {
  return [...new Set(words)];
}
