/**
 * This file turns an ApiError into a ConnectError. Connect and gRPC have sixteen codes where we have a table:
 * our code and particulars travel beside theirs as metadata (response headers in Connect, trailers in gRPC),
 * so that no client loses them.
 */
import { ConnectError } from '@connectrpc/connect';
import type { ApiError } from './errors.ts';
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

function toAscii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
