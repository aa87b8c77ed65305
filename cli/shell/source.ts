/** Reads names of values on the command line. It is pure. */
import type { FieldSpec } from '../command.ts';

/** A file, standard input, or a document that stands in the command line and is still to be understood. */
export class Source {
  readonly kind: 'file' | 'stdin' | 'text';
  /** Name as typed: `--document`, `<value>`, `--value-file`. */
  readonly name: string;
  /** The path or the document. */
  readonly text: string;

  constructor(kind: Source['kind'], name: string, text = '') {
    this.kind = kind;
    this.name = name;
    this.text = text;
  }

  /** Names the source in messages. */
  get label(): string {
    if (this.kind === 'text') return this.name;
    return this.kind === 'file' ? `the file of ${this.name}` : `standard input, which ${this.name} names,`;
  }
}

/** JSON in a file may be several times as long as what is sent of it. */
export const WHITE_SPACE_FACTOR = 4;

/** A secret that a person can type, and better than into the command line. */
export function isAsked({ sensitive, type }: FieldSpec): boolean {
  return sensitive && type === 'string';
}

/** Returns `ssh-key` as people say it. */
export function wordOf({ placeholder }: Pick<FieldSpec, 'placeholder'>): string {
  return placeholder.replaceAll('-', ' ');
}

/** It returns the same with its article. */
export function oneOf(field: Pick<FieldSpec, 'placeholder'>): string {
  const word = wordOf(field);
  return `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
}

/**
 * Returns the source that the text names, or undefined where it is the value itself. A secret may begin with
 * any character, so that only a lone dash names a source.
 */
export function sourceOf(field: FieldSpec, text: string, name: string): Source | undefined {
  const { document, sensitive, type } = field;
  if (text === '-' && (document !== undefined || sensitive)) return new Source('stdin', name);
  if (document === undefined) return undefined;
  if (text.length > 1 && text.startsWith('@')) return new Source('file', name, text.slice(1));
  if (document === 'file' && !isDocument(text)) return new Source('file', name, text);
  return type === 'string' ? undefined : new Source('text', name, text);
}

/** No file has a name of several lines, and a bracket is where JSON begins. */
function isDocument(text: string): boolean {
  return text === '' || text.includes('\n') || /^\s*[[{]/.test(text);
}
