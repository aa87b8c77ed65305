/** Turns what stands in a form into a request, and a refusal of the server into texts at its fields. */
import { SvcApiError } from '@svc/sdk';
import type { FieldSpec } from '../spec.ts';

/** Texts of the fields by their names; what is empty is left out of the request. */
export type Texts = Readonly<Record<string, string>>;
export type Problems = Readonly<Record<string, string>>;

interface Parsed {
  readonly value?: unknown;
  readonly problem?: string;
}

const isWhole = /^-?\d+$/;

/** Lines, pairs and documents become what the API takes. */
export function parsed(field: FieldSpec, text: string): Parsed {
  if (field.isRepeated === true && field.type !== 'json') {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    const all = lines.map((line) => one(field, line));
    const wrong = all.find(({ problem }) => problem !== undefined);
    return (
      wrong ??
      withinItems(
        field,
        all.map(({ value }) => value),
      )
    );
  }
  return one(field, text);
}

function one(field: FieldSpec, text: string): Parsed {
  switch (field.type) {
    case 'integer':
    case 'number':
      return numberOf(field, text.trim());
    case 'boolean':
      return { value: text === 'true' };
    case 'timestamp': {
      const ms = Date.parse(text);
      return Number.isNaN(ms)
        ? { problem: `This is no time: "${text}"` }
        : { value: new Date(ms).toISOString() };
    }
    case 'map':
      return pairsOf(text);
    case 'json':
      return documentOf(text);
    default:
      return withinLength(field, text);
  }
}

function numberOf({ type, rules = {} }: FieldSpec, text: string): Parsed {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) return { problem: `This is no number: "${text}"` };
  if (type === 'integer' && !isWhole.test(text)) return { problem: `This is no whole number: "${text}"` };
  const least = rules.minimum ?? rules.exclusiveMinimum;
  const most = rules.maximum ?? rules.exclusiveMaximum;
  if (least !== undefined && value < least) return { problem: `At least ${least}, got ${value}` };
  if (most !== undefined && value > most) return { problem: `At most ${most}, got ${value}` };
  return { value };
}

function pairsOf(text: string): Parsed {
  const pairs = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => [line, line.indexOf('=')] as const);
  const [wrong] = pairs.find(([, at]) => at < 1) ?? [];
  if (wrong !== undefined) return { problem: `Each line is NAME=value, got "${wrong.slice(0, 40)}"` };
  return {
    value: Object.fromEntries(pairs.map(([line, at]) => [line.slice(0, at).trim(), line.slice(at + 1)])),
  };
}

function documentOf(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function withinLength({ rules = {} }: FieldSpec, text: string): Parsed {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = rules;
  const length = [...text].length;
  if (length < minLength) return { problem: `At least ${minLength} characters, got ${length}` };
  if (length > maxLength) return { problem: `At most ${maxLength} characters, got ${length}` };
  return { value: text };
}

function withinItems({ rules = {} }: FieldSpec, value: readonly unknown[]): Parsed {
  const { maxItems = Number.POSITIVE_INFINITY } = rules;
  return value.length > maxItems ? { problem: `At most ${maxItems} lines, got ${value.length}` } : { value };
}

/** The request, or what is wrong at which field. */
export function requestOf(
  fields: readonly FieldSpec[],
  texts: Texts,
): { readonly input: Readonly<Record<string, unknown>>; readonly problems: Problems } {
  const input: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? '';
    if (text === '') {
      if (field.isRequired === true) problems[field.name] = 'This is needed.';
      continue;
    }
    const { value, problem } = parsed(field, text);
    if (problem !== undefined) problems[field.name] = problem;
    else put(input, field.name, value);
  }
  return { input, problems };
}

/** `limits.memoryMb` is a field of a message. */
function put(input: Record<string, unknown>, name: string, value: unknown): void {
  const [first = '', ...rest] = name.split('.');
  if (rest.length === 0) {
    input[first] = value;
    return;
  }
  const inner = (input[first] ??= {}) as Record<string, unknown>;
  put(inner, rest.join('.'), value);
}

/** Returns what stands in a form of something that exists. */
export function textOf({ type, isRepeated, isSecret }: FieldSpec, value: unknown): string {
  if (value === undefined || value === null || isSecret === true) return '';
  if (isRepeated === true && Array.isArray(value) && type !== 'json') return value.map(String).join('\n');
  if (type === 'map')
    return Object.entries(value as object)
      .map(([name, text]) => `${name}=${String(text)}`)
      .join('\n');
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value);
}

/** The server names fields by their JSON paths. */
export function refusedFields(error: unknown, fields: readonly FieldSpec[]): Problems {
  if (!(error instanceof SvcApiError)) return {};
  const details = (error.body as { error?: { details?: { fields?: unknown } } } | undefined)?.error?.details;
  const told = Array.isArray(details?.fields)
    ? (details.fields as ReadonlyArray<{ field?: unknown; message?: unknown }>)
    : [];
  const problems = told.flatMap(({ field, message }) => {
    const name = String(field).replace(/\[.*$/, '');
    const at = fields.find((each) => each.name === name || name.startsWith(`${each.name}.`));
    return at === undefined ? [] : [[at.name, String(message)] as const];
  });
  return Object.fromEntries(problems);
}
