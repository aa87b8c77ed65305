/**
 * This file carries a refusal of the server over the internal gRPC: an ApiError as JSON, in the trailer
 * `svc-error-bin` of a call that was refused as a whole, or for one ask of it.
 */
import { apiError, ERRORS, type ApiError, type ErrorCode } from '../http/errors.ts';

export const ERROR_TRAILER = 'svc-error-bin';

export function writeRefusal({ code, message, retryable, details, retryAfterMs }: ApiError): string {
  return JSON.stringify({ code, message, retryable, details, retryAfterMs });
}

export function readRefusal(text: string): ApiError {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (cause) {
    return apiError('unavailable', 'the server answered with an error that cannot be read', { cause });
  }
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
