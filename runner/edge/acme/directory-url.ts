/** Addresses that an authority names are called; its private data must not go to them in clear text. */
export function isHttps(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  try {
    return new URL(value).protocol === 'https:';
  } catch {
    return false;
  }
}
