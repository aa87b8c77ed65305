/** Places what is wrong with a document in the text that it was read from. */
import { SvcApiError } from '@svc/sdk';

export interface TextPlace {
  /** Lines count from 1 on. */
  readonly line: number;
  readonly column: number;
}

export interface Problem extends TextPlace {
  readonly message: string;
}

/**
 * A problem as the API tells it: `where` is a JSON pointer, `position` counts characters of the text there.
 */
export interface ApiProblem {
  readonly where: string;
  readonly position?: number;
  readonly message: string;
  readonly suggestion?: string;
}

/** Returns what is wrong with the document; undefined: it was refused for something else. */
export function apiProblems(error: unknown): readonly ApiProblem[] | undefined {
  if (!(error instanceof SvcApiError) || error.code !== 'policy_document_invalid') return undefined;
  const { error: told } = error.body as {
    error?: { details?: { problems?: readonly ApiProblem[] } };
  };
  return told?.details?.problems ?? [];
}

/** A text, and what it says. */
export interface ReadText {
  readonly text: string;
  readonly value: unknown;
  readonly placeOf: (pointer: string) => TextPlace;
}

export const placed = (read: ReadText, told: readonly ApiProblem[]): readonly Problem[] =>
  told.map(({ where, position, message, suggestion }) => {
    const part = read.placeOf(where);
    const value = valueAt(read.value, where);
    const { line, column } =
      position === undefined || typeof value !== 'string'
        ? part
        : placeWithin(read.text, part, value.slice(0, position));
    const name = where.split('/').at(-1) ?? '';
    const isNamed = name === '' || /^\d+$/.test(name) || message.includes(`"${name}"`);
    const meant = suggestion === undefined ? '' : `; did you mean "${suggestion}"?`;
    return { line, column, message: `${isNamed ? '' : `${name}: `}${message}${meant}` };
  });

const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (at, part) =>
        typeof at === 'object' && at !== null ? (at as Readonly<Record<string, unknown>>)[part] : undefined,
      value,
    );

const SPACE = /\s/;

/**
 * Returns where a value goes on behind its first part. YAML folds lines and takes indentation away, so that
 * spaces are passed over and the other characters counted; a sign that escapes another one is not counted.
 */
function placeWithin(text: string, start: TextPlace, part: string): TextPlace {
  let at = offsetOf(text, start);
  const first = text[at] ?? '';
  if (first === '|' || first === '>') at = text.indexOf('\n', at) + 1;
  const quote = first === '"' || first === "'" ? first : '';
  if (quote !== '') at += 1;
  let left = part.replaceAll(/\s/g, '').length;
  for (; at < text.length; at += 1) {
    if (SPACE.test(text[at] ?? '')) continue;
    if (left === 0) break;
    if (quote === '"' ? text[at] === '\\' : quote !== '' && text[at] === quote) at += 1;
    left -= 1;
  }
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: at - lineStart + 1 };
}

/** Counts the characters before a place. */
export function offsetOf(text: string, { line, column }: TextPlace): number {
  let start = 0;
  for (let n = 1; n < line; n += 1) {
    const end = text.indexOf('\n', start);
    if (end < 0) break;
    start = end + 1;
  }
  return Math.min(text.length, start + column - 1);
}
