/**
 * This file reads the error of a call that failed. A refusal without words of the server came from the
 * transport, and tells the runner nothing but `unavailable`.
 */
import type { Metadata } from '@grpc/grpc-js';
import { ERROR_TRAILER, readRefusal } from '@svc/proto/dispatch/refusal.ts';
import { apiError, type ApiError } from '@svc/proto/http/errors.ts';

/** Reads the server's own error. It is undefined when the transport failed. */
export function errorFromTrailers(metadata: Metadata): ApiError | undefined {
  const [value] = metadata.get(ERROR_TRAILER);
  return value === undefined ? undefined : readRefusal(Buffer.from(value).toString('utf8'));
}

/**
 * Makes the error that tells the runner that no server could be asked. It is never a 401: a gateway with a
 * wrong token must not make runners believe that they are refused. It has no cause, so that an outage is one
 * line in the log for each server and second, not one for each call.
 */
export function noServer(): ApiError {
  return apiError('unavailable', 'no server answers at the moment; try again', { retryAfterMs: 1_000 });
}
