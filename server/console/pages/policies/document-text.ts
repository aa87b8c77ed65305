/** Documents of policies as texts of YAML, which JSON is too. It is loaded with the first document. */
import { readYaml } from '@svc/sdk/ci-definitions';
import { Document, isSeq, visit } from 'yaml';
import type { Problem, ReadText } from './problems.ts';

export const DOCUMENT_BYTES_MAX = 65_536;
/** A longer value is folded over several lines. */
const LINE_MAX = 100;

const ORDER = ['on', 'mode', 'when', 'overridable', 'rules'];

/** Returns the text that an editor begins with. */
export function textOf(document: Readonly<Record<string, unknown>>): string {
  const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const sorted = Object.entries(document).toSorted(([a], [b]) => rank(a) - rank(b));
  const yaml = new Document(Object.fromEntries(sorted));
  const on = yaml.get('on');
  if (isSeq(on)) on.flow = true;
  visit(yaml, {
    Scalar: (_key, node) => {
      if (typeof node.value !== 'string' || node.value.length <= LINE_MAX) return;
      node.type = node.value.includes('\n') ? 'BLOCK_LITERAL' : 'BLOCK_FOLDED';
    },
  });
  return yaml.toString({ lineWidth: LINE_MAX, flowCollectionPadding: false }).trimEnd();
}

export type DocumentText = ReadText & { readonly document: Readonly<Record<string, unknown>> };

/** Gives the document of a text, or what is wrong with it. */
export function readText(text: string): DocumentText | { readonly problem: Problem } {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > DOCUMENT_BYTES_MAX) {
    const counts = `${DOCUMENT_BYTES_MAX.toLocaleString('en')} bytes, got ${bytes.toLocaleString('en')}`;
    return { problem: { line: 1, column: 1, message: `at most ${counts}` } };
  }
  if (text.trim() === '') return { problem: { line: 1, column: 1, message: 'the document is empty' } };
  const read = readYaml(text);
  if ('problem' in read) return read;
  const { value } = read;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { text, ...read, document: value as Readonly<Record<string, unknown>> };
  return { problem: { line: 1, column: 1, message: 'an object is expected, such as on: [deploy]' } };
}
