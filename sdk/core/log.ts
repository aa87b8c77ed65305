/**
 * Debug output. It names operations by their path template and headers by an allow-list, so no secret can
 * slip in.
 */

export interface Logger {
  debug(message: string, details?: Readonly<Record<string, unknown>>): void;
}

/** Everything else is printed as `[redacted]`: Authorization, cookies, whatever a caller adds. */
const PRINTED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'content-length',
  'content-type',
  'date',
  'last-event-id',
  'retry-after',
  'retry-after-ms',
  'user-agent',
  'x-request-id',
  'x-should-retry',
  'x-svc-retry-count',
]);

export function printableHeaders(headers: Headers): Record<string, string> {
  const printed: Record<string, string> = {};
  headers.forEach((value, name) => {
    printed[name] = PRINTED_HEADERS.has(name) ? value : '[redacted]';
  });
  return printed;
}
