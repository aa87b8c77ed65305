/**
 * How a refusal of the server travels over the internal gRPC: an ApiError as JSON in the trailer `svc-error-bin`. An answer
 * without it did not come from the dispatch service but from the transport, and tells the runner nothing but `unavailable`.
 */
import type { Metadata } from '@grpc/grpc-js';
import { apiError, ERRORS, type ApiError, type ErrorCode } from '@svc/proto/http/errors.ts';

export const ERROR_TRAILER = 'svc-error-bin';

/** The server's own error; undefined when the transport failed. */
export function errorFromTrailers(metadata: Metadata): ApiError | undefined {
  const [value] = metadata.get(ERROR_TRAILER);
  if (value === undefined) return undefined;
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(value).toString('utf8'));
  } catch (cause) {
    return apiError('unavailable', 'the server answered with an error that cannot be read', { cause });
  }
  return readError(read);
}

function readError(read: unknown): ApiError {
  const { code, message, retryable, retryAfterMs, details } = (
    typeof read === 'object' && read !== null ? read : {}
  ) as Record<string, unknown>;
  const isKnown = typeof code === 'string' && Object.hasOwn(ERRORS, code);
  // A newer server may know more codes; the caller is told as much as this gateway can vouch for.
  const known: ErrorCode = isKnown ? (code as ErrorCode) : 'unavailable';
  return apiError(known, typeof message === 'string' ? message : 'the server refused the call', {
    ...(typeof retryable === 'boolean' && isKnown ? { retryable } : {}),
    ...(typeof retryAfterMs === 'number' ? { retryAfterMs } : {}),
    ...(typeof details === 'object' && details !== null
      ? { details: details as Readonly<Record<string, unknown>> }
      : {}),
  });
}

/**
 * What the runner is told when no server could be asked. Never a 401: a gateway with a wrong token must not make runners believe that they
 * are refused. Without a cause, so that an outage is one line in the log for each server and second, not one for each call.
 */
export function noServer(): ApiError {
  return apiError('unavailable', 'no server answers at the moment; try again', { retryAfterMs: 1_000 });
}
