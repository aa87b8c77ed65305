/** A package as its own database names it, before the image's distribution is known. */
import type { Purl } from '@svc/proto/packages/purl.ts';

export interface Finding {
  readonly purl: Purl;
  readonly licenses: readonly string[];
  /** The source package's name, of deb and apk. */
  readonly source?: string;
}

const TEXT_LENGTH_MAX = 200;
/** Controls, marks that turn the direction of writing, halves of a character. */
const UNREADABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A reader of a database answers these; `undefined` stands for an entry that names no package. */
export type Findings = Iterable<Finding | undefined>;

/** One line at a time, because a hostile text of 16 MiB would split into as many strings. */
export function* linesOf(text: string): Generator<string, void, undefined> {
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n', at);
    const next = end < 0 ? text.length : end;
    yield text.slice(at, text[next - 1] === '\r' && next > at ? next - 1 : next);
    at = next + 1;
  }
}

/**
 * Fields of paragraphs that empty lines separate, such as `Package: dpkg`; only the wanted ones, the first of
 * each name. Continued lines are left out.
 */
export function* paragraphsOf(
  text: string,
  wanted: ReadonlySet<string>,
): Generator<ReadonlyMap<string, string>, void, undefined> {
  let fields = new Map<string, string>();
  for (const line of linesOf(text)) {
    if (line === '' && fields.size > 0) {
      yield fields;
      fields = new Map();
    }
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0));
    if (wanted.has(name) && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  if (fields.size > 0) yield fields;
}

/** Undefined for a text that is not a JSON object. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** Tells whether a text beside the purl, such as a licence, may go into the catalogue. */
export function isReadable(text: string): boolean {
  return text !== '' && text.length <= TEXT_LENGTH_MAX && text.search(UNREADABLE) < 0;
}

/** Makes a text with paths of the image in it readable for people. */
export function madeReadable(text: string): string {
  return text.slice(0, TEXT_LENGTH_MAX).replaceAll(UNREADABLE, '?');
}
