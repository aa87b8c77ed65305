/**
 * ApiError to ConnectError and back. Connect and gRPC have sixteen codes where we have a table: our code and particulars travel
 * beside theirs as metadata (response headers in Connect, trailers in gRPC), so that no client loses them.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { apiError, ERRORS, type ApiError, type ErrorCode } from './errors.ts';
import { errorHeaders } from './reply.ts';

const HEADER_CODE = 'x-error-code';
const HEADER_REQUEST_ID = 'x-request-id';
const HEADER_RETRYABLE = 'x-error-retryable';
/** JSON in ASCII; left out when longer, because the headers of an answer are bounded too. */
const HEADER_DETAILS = 'x-error-details';
const DETAILS_CHARS_MAX = 4096;

export function toConnectError(error: ApiError, requestId: string): ConnectError {
  const metadata = new Headers();
  for (const [name, value] of Object.entries(errorHeaders(error))) metadata.set(name, String(value));
  metadata.set(HEADER_CODE, error.code);
  metadata.set(HEADER_REQUEST_ID, requestId);
  metadata.set(HEADER_RETRYABLE, String(error.retryable));
  if (error.details !== undefined) {
    const details = toAscii(JSON.stringify(error.details));
    if (details.length <= DETAILS_CHARS_MAX) metadata.set(HEADER_DETAILS, details);
  }
  return new ConnectError(error.message, error.connect, metadata, undefined, error);
}

/** What a server of ours meant. An error of anybody else gets the code that is nearest to its own. */
export function fromConnectError(error: ConnectError): ApiError {
  const named = error.metadata.get(HEADER_CODE) ?? '';
  const code: ErrorCode = Object.hasOwn(ERRORS, named)
    ? (named as ErrorCode)
    : (NEAREST[error.code] ?? 'internal');
  const details = parseDetails(error.metadata.get(HEADER_DETAILS));
  const retryable = error.metadata.get(HEADER_RETRYABLE);
  const retryAfterS = Number(error.metadata.get('retry-after') ?? Number.NaN);
  return apiError(code, error.rawMessage, {
    cause: error,
    ...(details !== undefined && { details }),
    ...(retryable !== null && { retryable: retryable === 'true' }),
    ...(Number.isFinite(retryAfterS) && { retryAfterMs: retryAfterS * 1000 }),
  });
}

const NEAREST: Readonly<Partial<Record<Code, ErrorCode>>> = {
  [Code.Canceled]: 'client_closed',
  [Code.InvalidArgument]: 'validation_failed',
  [Code.DeadlineExceeded]: 'deadline_exceeded',
  [Code.NotFound]: 'not_found',
  [Code.PermissionDenied]: 'scope_missing',
  [Code.ResourceExhausted]: 'rate_limited',
  [Code.Aborted]: 'unavailable',
  [Code.Unavailable]: 'unavailable',
  [Code.Unauthenticated]: 'credentials_invalid',
};

function parseDetails(text: string | null): Readonly<Record<string, unknown>> | undefined {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // Cut or changed on the way: the code and the message still stand.
    return undefined;
  }
}

function toAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
