/** Tells whether parsed JSON is an object, which is where reading what others sent begins. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
