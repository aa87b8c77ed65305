/** A parsed document may hold anything anywhere. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The document cannot be read as a whole; the message says why. */
export class Unreadable extends Error {}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an array, and otherwise an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of an array, and nothing where it is none. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return listOf(value).filter(isObject);
}
