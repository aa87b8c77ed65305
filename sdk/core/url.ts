/** This file turns an operation and its input into path, query and body. It is pure. */
import type { Operation } from './operation.ts';
import { isRecord } from './errors.ts';

export interface RequestParts {
  /** Path and query, percent-encoded. */
  readonly target: string;
  /** JSON text; undefined for no body. */
  readonly body: string | undefined;
}

type Input = Readonly<Record<string, unknown>>;

export function requestParts(operation: Operation, input: Input): RequestParts {
  const inPath = new Set<string>();
  const path = operation.path.replace(/\{([^}]+)\}/g, (_match, name: string) => {
    inPath.add(name);
    return pathSegment(name, input[name], operation);
  });
  const rest = Object.entries(input).filter(([name, value]) => !inPath.has(name) && value !== undefined);
  if (operation.body === '*') return { target: path, body: JSON.stringify(Object.fromEntries(rest)) };
  const query = queryString(rest.filter(([name]) => name !== operation.body));
  const body = operation.body === undefined ? undefined : JSON.stringify(input[operation.body] ?? {});
  return { target: path + query, body };
}

/**
 * It encodes one segment. Empty, `.` and `..` would silently address another resource, so they are refused.
 */
function pathSegment(name: string, value: unknown, operation: Operation): string {
  const where = `${operation.method} ${operation.path}`;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw new TypeError(`${where} needs ${name}, got ${value === null ? 'null' : typeof value}`);
  }
  const text = String(value);
  if (text === '' || text === '.' || text === '..') {
    throw new TypeError(`${where} cannot take ${JSON.stringify(text)} as ${name}`);
  }
  return encodeURIComponent(text);
}

/**
 * Writes `?a=1&b=2`, or nothing. Arrays repeat their name; undefined and null are left out; objects use
 * dotted names.
 */
function queryString(entries: readonly (readonly [string, unknown])[]): string {
  const search = new URLSearchParams();
  for (const [name, value] of entries) appendQuery(search, name, value);
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function appendQuery(search: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) appendQuery(search, name, item);
  } else if (value instanceof Date) {
    search.append(name, value.toISOString());
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) appendQuery(search, `${name}.${key}`, item);
  } else {
    search.append(name, String(value));
  }
}
