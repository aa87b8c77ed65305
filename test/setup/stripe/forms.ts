/** Bracket forms, as the API takes them: `a[b]=1`, `a[0][b]=1`, `a[]=1`. */
import { invalid } from './refusal.ts';

export type FormValue = string | GivenMap;
export interface GivenMap {
  [key: string]: FormValue;
}

export function parseForm(text: string): GivenMap {
  const root: GivenMap = emptyMap();
  for (const [name, value] of new URLSearchParams(text)) {
    const first = name.split('[', 1)[0] ?? name;
    const keys = [first, ...[...name.matchAll(/\[([^\]]*)\]/g)].map((match) => match[1] ?? '')];
    put(root, keys, value);
  }
  return root;
}

function put(root: GivenMap, keys: readonly string[], value: string): void {
  let at = root;
  for (const [n, given] of keys.entries()) {
    const key = given === '' ? String(Object.keys(at).length) : given;
    if (n === keys.length - 1) {
      at[key] = value;
      return;
    }
    const next = at[key];
    const child = next === undefined || typeof next === 'string' ? emptyMap() : next;
    at[key] = child;
    at = child;
  }
}

const emptyMap = (): GivenMap => Object.create(null) as GivenMap;

/** What a call was given, read with the types that the API expects. An empty text unsets. */
export interface Params {
  has(name: string): boolean;
  text(name: string): string | undefined;
  need(name: string): string;
  whole(name: string): number | undefined;
  flag(name: string): boolean | undefined;
  choice<T extends string>(name: string, values: readonly T[]): T | undefined;
  texts(name: string): string[];
  map(name: string): Record<string, string> | undefined;
  child(name: string): Params | undefined;
  list(name: string): Params[];
  /** Refuses what nobody here reads, so that no test passes because something was ignored. */
  only(names: readonly string[]): void;
}

export function paramsOf(given: GivenMap, path = ''): Params {
  const named = (name: string) => (path === '' ? name : `${path}[${name}]`);
  const text = (name: string) => {
    const value = given[name];
    if (value === undefined || typeof value === 'string') return value;
    throw invalid(`Invalid string: ${JSON.stringify(value)}`, { param: named(name) });
  };
  const mapOf = (name: string) => {
    const value = given[name];
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') return value;
    throw invalid('Invalid object', { param: named(name) });
  };
  return {
    has: (name) => given[name] !== undefined,
    text,
    need: (name) => {
      const value = text(name);
      if (value !== undefined && value !== '') return value;
      throw invalid(`Missing required param: ${named(name)}.`, {
        param: named(name),
        code: 'parameter_missing',
      });
    },
    whole: (name) => {
      const value = text(name);
      if (value === undefined || value === '') return undefined;
      if (/^-?\d{1,15}$/.test(value)) return Number(value);
      throw invalid(`Invalid integer: ${value}`, { param: named(name), code: 'parameter_invalid_integer' });
    },
    flag: (name) => {
      const value = text(name);
      if (value === undefined || value === '') return undefined;
      if (value === 'true' || value === 'false') return value === 'true';
      throw invalid(`Invalid boolean: ${value}`, { param: named(name) });
    },
    choice: (name, values) => {
      const value = text(name);
      if (value === undefined || value === '') return undefined;
      const found = values.find((each) => each === value);
      if (found !== undefined) return found;
      throw invalid(`Invalid ${named(name)}: must be one of ${values.join(', ')}`, { param: named(name) });
    },
    texts: (name) =>
      Object.entries(mapOf(name) ?? {}).map(([key, value]) => {
        if (typeof value === 'string') return value;
        throw invalid(`Invalid string: ${JSON.stringify(value)}`, { param: `${named(name)}[${key}]` });
      }),
    map: (name) => {
      const map = mapOf(name);
      if (map === undefined) return undefined;
      const entries = Object.keys(map).map(
        (key) => [key, paramsOf(map, named(name)).text(key) ?? ''] as const,
      );
      const wrong = entries.find(([key, value]) => key.length > 40 || value.length > 500);
      if (entries.length > 50 || wrong !== undefined)
        throw invalid('Metadata can have up to 50 keys of up to 40 characters, with values of up to 500.', {
          param: wrong === undefined ? named(name) : `${named(name)}[${wrong[0]}]`,
        });
      return Object.fromEntries(entries);
    },
    child: (name) => {
      const map = mapOf(name);
      return map === undefined ? undefined : paramsOf(map, named(name));
    },
    list: (name) =>
      Object.entries(mapOf(name) ?? {}).map(([key, value]) => {
        if (typeof value !== 'string') return paramsOf(value, `${named(name)}[${key}]`);
        throw invalid('Invalid object', { param: `${named(name)}[${key}]` });
      }),
    only: (names) => {
      const unknown = Object.keys(given).find((name) => !names.includes(name));
      if (unknown === undefined) return;
      throw invalid(`Received unknown parameter: ${named(unknown)}`, {
        param: named(unknown),
        code: 'parameter_unknown',
      });
    },
  };
}

/** Returns the metadata that is there after a change: keys with an empty value go, an empty whole clears. */
export function changedMetadata(before: Record<string, string>, params: Params): Record<string, string> {
  if (params.has('metadata') && params.map('metadata') === undefined) return {};
  const merged = { ...before, ...params.map('metadata') };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''));
}
