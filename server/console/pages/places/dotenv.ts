/**
 * Reads texts of `.env` files as common libraries do: comments, `export`, three kinds of quotes, values of
 * several lines inside of quotes. The time that it takes grows with the length alone.
 */

export interface Assignment {
  readonly name: string;
  readonly value: string;
  /** Line at which it begins, from 1. */
  readonly line: number;
}

export interface Mistake {
  readonly line: number;
  readonly why: string;
}

export interface Dotenv {
  readonly assignments: readonly Assignment[];
  readonly mistakes: readonly Mistake[];
}

/** One call of `variables.setMany` takes so much. */
export const VARIABLES_MAX = 500;
export const VALUE_BYTES_MAX = 65_536;
export const TEXT_BYTES_MAX = 1_048_576;

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const QUOTES = ['"', "'", '`'];
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const clipped = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

/** Holds a value, and where what is behind it begins. */
interface Read {
  readonly value: string;
  readonly end: number;
}

export function parseDotenv(source: string): Dotenv {
  const text = source.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n');
  const assignments = new Map<string, Assignment>();
  const mistakes: Mistake[] = [];
  let line = 1;
  for (let at = 0; at < text.length;) {
    const { end, found } = statementAt(text, at);
    if (typeof found === 'string') mistakes.push({ line, why: found });
    else if (found !== undefined) {
      const known = assignments.get(found.name);
      if (known === undefined) assignments.set(found.name, { ...found, line });
      else mistakes.push({ line, why: `${clipped(found.name)} stands in line ${known.line} already` });
    }
    for (let index = at; index < end; index += 1) if (text[index] === '\n') line += 1;
    at = end;
  }
  return { assignments: [...assignments.values()], mistakes };
}

interface Statement {
  /** The next line begins here. */
  readonly end: number;
  /** Absent for a line that says nothing; a text says what is wrong. */
  readonly found: { readonly name: string; readonly value: string } | string | undefined;
}

function statementAt(text: string, at: number): Statement {
  const end = lineEnd(text, at);
  const whole = text.slice(at, end);
  const bare = whole.trim();
  const next = end + 1;
  if (bare === '' || bare.startsWith('#')) return { end: next, found: undefined };
  const equals = whole.indexOf('=');
  if (equals === -1) return { end: next, found: `It has no "=": ${clipped(bare)}` };
  const name = whole
    .slice(0, equals)
    .trim()
    .replace(/^export\s+/, '');
  if (!NAME.test(name))
    return {
      end: next,
      found: `A name is letters, digits and underscores, at most 255, no digit first, got "${clipped(name)}"`,
    };
  const behind = whole.slice(equals + 1);
  const from = at + equals + 1 + behind.length - behind.trimStart().length;
  const first = text[from] ?? '';
  if (!QUOTES.includes(first) || from >= end)
    return { end: next, found: within(name, behind.replace(/(^|\s)#[^]*$/, '').trim()) };
  const read = quoted(text, from, first);
  if (read === undefined) return { end: next, found: `The quote ${first} has no end` };
  const close = lineEnd(text, read.end);
  const rest = text.slice(read.end, close).trim();
  const isClean = rest === '' || rest.startsWith('#');
  return {
    end: close + 1,
    found: isClean ? within(name, read.value) : `Behind the quote stands ${clipped(rest)}`,
  };
}

const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};

function within(name: string, value: string): Statement['found'] {
  const bytes = bytesOf(value);
  return bytes > VALUE_BYTES_MAX
    ? `A value has at most ${VALUE_BYTES_MAX} bytes, that of ${clipped(name)} has ${bytes}`
    : { name, value };
}

/** Only double quotes know backslashes. */
function quoted(text: string, from: number, quote: string): Read | undefined {
  if (quote !== '"') {
    const end = text.indexOf(quote, from + 1);
    return end === -1 ? undefined : { value: text.slice(from + 1, end), end: end + 1 };
  }
  const parts: string[] = [];
  let begun = from + 1;
  for (let at = begun; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') return { value: parts.join('') + text.slice(begun, at), end: at + 1 };
    if (char !== '\\') continue;
    const escaped = ESCAPED[text[at + 1] ?? ''];
    at += 1;
    if (escaped === undefined) continue;
    parts.push(text.slice(begun, at - 1), escaped);
    begun = at + 1;
  }
  return undefined;
}
