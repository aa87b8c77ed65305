/** Reads caught values: Node's code of a system error, and a text for people. */

export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

/** Reads Node's code of a system error, `ENOSPC` and the like. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
