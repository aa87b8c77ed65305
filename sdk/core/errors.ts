/**
 * Defines everything that a call can fail with. One base class, so that one `catch` sees all; subclasses for
 * the cases that callers treat differently. The server's words are kept: `code` is stable and meant for
 * programs, `message` for people.
 */

/** The server's answer, as far as it could be read. */
type ErrorFields = Pick<SvcApiError, 'status' | 'code' | 'body' | 'retryable' | 'requestId' | 'headers'>;

export class SvcApiError extends Error {
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /**
   * Stable lower_snake word of the server (`not_found`, `feature_disabled`), or of this client (`timeout`).
   */
  readonly code: string;
  /** Parsed JSON body, else the text as received, else undefined. */
  readonly body: unknown;
  /** True if the same call may succeed later. Retries that the client makes by itself are already used up. */
  readonly retryable: boolean;
  /** Id for support, which names this request in the server's logs. */
  readonly requestId: string | undefined;
  readonly headers: Headers;

  constructor(message: string, fields: ErrorFields, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.status = fields.status;
    this.code = fields.code;
    this.body = fields.body;
    this.retryable = fields.retryable;
    this.requestId = fields.requestId;
    this.headers = fields.headers;
  }
}

/** No answer came: refused, reset, name not found, or a stream that broke and could not be resumed. */
export class SvcConnectionError extends SvcApiError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, noAnswer('connection_failed', true), options);
  }
}

/** No answer came within `timeoutMs`, in any of the attempts. */
export class SvcTimeoutError extends SvcApiError {
  constructor(message: string) {
    super(message, noAnswer('timeout', true));
  }
}

/** The caller's signal was aborted; `cause` is its reason. */
export class SvcAbortError extends SvcApiError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, noAnswer('aborted', false), options);
  }
}

/** The request is wrong whatever the state (400, 422). */
export class SvcInvalidRequestError extends SvcApiError {}
/** There is no credential, or no valid one (401). */
export class SvcUnauthenticatedError extends SvcApiError {}
/**
 * The caller is known, and not allowed; or a platform feature is off, and `code` is `feature_disabled` (403).
 */
export class SvcPermissionDeniedError extends SvcApiError {}
/** It is not there, or not visible to this caller (404). */
export class SvcNotFoundError extends SvcApiError {}
/** It is not possible in the present state (409, 412). */
export class SvcConflictError extends SvcApiError {}
/** There were too many requests (429). */
export class SvcRateLimitedError extends SvcApiError {}
/** Something went wrong at the server (5xx). */
export class SvcServerError extends SvcApiError {}

function noAnswer(code: string, retryable: boolean): ErrorFields {
  return { status: 0, code, body: undefined, retryable, requestId: undefined, headers: new Headers() };
}

const CLASS_OF_STATUS: Readonly<Record<number, typeof SvcApiError>> = {
  400: SvcInvalidRequestError,
  401: SvcUnauthenticatedError,
  403: SvcPermissionDeniedError,
  404: SvcNotFoundError,
  409: SvcConflictError,
  412: SvcConflictError,
  422: SvcInvalidRequestError,
  429: SvcRateLimitedError,
};

/** Makes the error of an answer, in the class of its status. */
export function apiError(message: string, fields: ErrorFields, options?: ErrorOptions): SvcApiError {
  const Class = CLASS_OF_STATUS[fields.status] ?? (fields.status >= 500 ? SvcServerError : SvcApiError);
  return new Class(message, fields, options);
}

/** Makes the error of an answer, or a part of one, that is not what it should be. */
export function unreadable(
  message: string,
  answer: Pick<ErrorFields, 'status' | 'headers' | 'body'>,
  options?: ErrorOptions,
): SvcApiError {
  const requestId = requestIdOf(answer.headers);
  return new SvcApiError(
    message,
    { ...answer, code: 'invalid_response', retryable: false, requestId },
    options,
  );
}

export function requestIdOf(headers: Headers): string | undefined {
  return headers.get('x-request-id') ?? undefined;
}

export interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  readonly requestId?: string;
  readonly retryable?: boolean;
  readonly status?: number;
}

/**
 * The inner object of `{"error": {...}}` with the fields that have the right type; empty for any other body.
 */
export function readErrorBody(body: unknown): ErrorBody {
  const error = isRecord(body) ? body['error'] : undefined;
  if (!isRecord(error)) return {};
  const { code, message, requestId, retryable, status } = error;
  return {
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof message === 'string' ? { message } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(typeof retryable === 'boolean' ? { retryable } : {}),
    ...(typeof status === 'number' ? { status } : {}),
  };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
