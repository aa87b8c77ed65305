/** Reads one document of YAML, and so of JSON, as a plain value. */
import { loadYaml } from './load.ts';
import type { Node } from './node.ts';

/**
 * Throws an error that says where the text is wrong. The limits of `loadYaml` hold: depth, aliases and all
 * that they stand for.
 */
export function readYamlValue(text: string): unknown {
  const { documents, problems, repeated } = loadYaml(text);
  const [problem] = problems;
  if (problem !== undefined)
    throw new Error(`line ${problem.line}, column ${problem.column}: ${problem.message}`);
  const twice = repeated.find(({ isOtherCase }) => !isOtherCase);
  if (twice !== undefined)
    throw new Error(
      `line ${twice.line}, column ${twice.column}: the key "${twice.key}" is given twice, first in line ${twice.first}`,
    );
  const [document, ...more] = documents;
  if (document === undefined || more.length > 0)
    throw new Error(`it has ${documents.length} documents, expected one`);
  return valueOf(document);
}

/** Goes as deep as was composed, which `loadYaml` bounds. */
function valueOf(node: Node): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(valueOf);
  // The map is not made by assignment, because a key may be called __proto__.
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, valueOf(value)]));
}
