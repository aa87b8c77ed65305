/** Reads and writes at dotted JSON paths: `limits.memoryMb`. */

export type Json = Record<string, unknown>;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Optional<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];
type Defined<T> = Omit<T, Optional<T>> & { [K in Optional<T>]?: Exclude<T[K], undefined> };

/** Leaves out what is undefined, so that a field is there with a value alone. */
export function defined<T extends object>(object: T): Defined<T> {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>;
}

export function getPath(value: unknown, path: string): unknown {
  let found = value;
  for (const key of path.split('.')) {
    if (!isRecord(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

/**
 * Makes the objects on the way. Paths come from the command tables or `--json=`, keys are set as own
 * properties.
 */
export function setPath(target: Json, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? path;
  let object = target;
  for (const key of keys) {
    const inner = Object.hasOwn(object, key) ? object[key] : undefined;
    const next = isRecord(inner) ? inner : {};
    define(object, key, next);
    object = next;
  }
  define(object, last, value);
}

/** Own properties of `over` win; objects on both sides are merged. */
export function mergeDeep(under: Json, over: Json): Json {
  const merged: Json = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    define(merged, key, isRecord(below) && isRecord(value) ? mergeDeep(below, value) : value);
  }
  return merged;
}

function define(object: Json, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
