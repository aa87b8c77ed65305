/**
 * Holds the one table of error codes and the one class that carries them. Every refusal on every door is an
 * ApiError; anything else that is thrown becomes `internal`, its text goes to the log and never to the wire.
 */
import { Code } from '@connectrpc/connect';

export interface ErrorEntry {
  /** HTTP status on REST, on Connect unary the nearest that its code gives. */
  readonly status: number;
  /** Connect and gRPC code. */
  readonly connect: Code;
  /** True if the very same request may succeed later without the caller changing anything. */
  readonly retryable: boolean;
}

const entry = (status: number, connect: Code, retryable = false): ErrorEntry => ({
  status,
  connect,
  retryable,
});

/** Sorted by code. A code is a stable part of the API: append, never rename. */
export const ERRORS = {
  agent_disabled: entry(409, Code.FailedPrecondition),
  agent_forbidden: entry(403, Code.PermissionDenied),
  agent_unknown: entry(400, Code.InvalidArgument),
  already_member: entry(409, Code.AlreadyExists),
  approval_invalid: entry(403, Code.PermissionDenied),
  approval_required: entry(403, Code.PermissionDenied),
  attestation_invalid: entry(400, Code.InvalidArgument),
  attestation_subject_mismatch: entry(400, Code.InvalidArgument),
  billing_not_started: entry(409, Code.FailedPrecondition),
  billing_payer: entry(409, Code.FailedPrecondition),
  billing_unconfigured: entry(503, Code.FailedPrecondition),
  body_too_large: entry(413, Code.ResourceExhausted),
  boot_superseded: entry(409, Code.Aborted),
  build_not_deployable: entry(409, Code.FailedPrecondition),
  build_not_waiting: entry(409, Code.FailedPrecondition),
  ci_connection_paused: entry(409, Code.FailedPrecondition),
  ci_run_conflict: entry(409, Code.AlreadyExists),
  claim_invalid: entry(404, Code.NotFound),
  client_closed: entry(499, Code.Canceled),
  clock_skew: entry(401, Code.Unauthenticated),
  credentials_invalid: entry(401, Code.Unauthenticated),
  credentials_missing: entry(401, Code.Unauthenticated),
  credit_remaining: entry(409, Code.FailedPrecondition),
  csrf_refused: entry(403, Code.PermissionDenied),
  currency_unsupported: entry(400, Code.InvalidArgument),
  database_exists: entry(409, Code.AlreadyExists),
  deadline_exceeded: entry(504, Code.DeadlineExceeded, true),
  edge_unavailable: entry(409, Code.FailedPrecondition),
  email_unverified: entry(403, Code.PermissionDenied),
  environment_incomplete: entry(409, Code.FailedPrecondition),
  environment_locked: entry(409, Code.FailedPrecondition),
  environment_protected: entry(409, Code.FailedPrecondition),
  feature_disabled: entry(403, Code.PermissionDenied),
  feature_not_toggleable: entry(409, Code.FailedPrecondition),
  feature_unknown: entry(404, Code.NotFound),
  headers_too_large: entry(431, Code.ResourceExhausted),
  host_path_refused: entry(409, Code.FailedPrecondition),
  host_unavailable: entry(409, Code.FailedPrecondition),
  id_token_invalid: entry(401, Code.Unauthenticated),
  id_token_refused: entry(403, Code.PermissionDenied),
  id_token_used: entry(401, Code.Unauthenticated),
  idempotency_in_progress: entry(409, Code.Aborted, true),
  idempotency_key_invalid: entry(400, Code.InvalidArgument),
  idempotency_key_reused: entry(422, Code.InvalidArgument),
  in_use: entry(409, Code.FailedPrecondition),
  internal: entry(500, Code.Internal, true),
  invite_invalid: entry(404, Code.NotFound),
  invite_other_account: entry(403, Code.PermissionDenied),
  key_in_use: entry(409, Code.AlreadyExists),
  key_unknown: entry(401, Code.Unauthenticated),
  key_weak: entry(400, Code.InvalidArgument),
  last_owner: entry(409, Code.FailedPrecondition),
  legal_review_required: entry(403, Code.PermissionDenied),
  limit_reached: entry(409, Code.FailedPrecondition),
  log_digest_mismatch: entry(409, Code.Aborted),
  log_gap: entry(409, Code.OutOfRange),
  mail_unconfigured: entry(503, Code.FailedPrecondition),
  method_not_allowed: entry(405, Code.Unimplemented),
  misdirected: entry(421, Code.InvalidArgument),
  name_taken: entry(409, Code.AlreadyExists),
  not_found: entry(404, Code.NotFound),
  passport_not_ready: entry(404, Code.NotFound, true),
  password_weak: entry(400, Code.InvalidArgument),
  permission_beyond_kind: entry(400, Code.InvalidArgument),
  plan_current: entry(409, Code.FailedPrecondition),
  plan_unknown: entry(400, Code.InvalidArgument),
  policy_denied: entry(403, Code.PermissionDenied),
  policy_document_invalid: entry(400, Code.InvalidArgument),
  precondition_failed: entry(412, Code.FailedPrecondition),
  promotion_not_pending: entry(409, Code.FailedPrecondition),
  proof_required: entry(403, Code.PermissionDenied),
  rate_limited: entry(429, Code.ResourceExhausted, true),
  reason_required: entry(400, Code.InvalidArgument),
  region_unknown: entry(400, Code.InvalidArgument),
  replayed: entry(401, Code.Unauthenticated),
  request_invalid: entry(400, Code.InvalidArgument),
  request_timeout: entry(408, Code.DeadlineExceeded, true),
  role_insufficient: entry(403, Code.PermissionDenied),
  runner_revoked: entry(401, Code.Unauthenticated),
  scope_missing: entry(403, Code.PermissionDenied),
  session_required: entry(403, Code.PermissionDenied),
  signature_invalid: entry(401, Code.Unauthenticated),
  signature_missing: entry(401, Code.Unauthenticated),
  // Not ResourceExhausted, which is 429 over Connect and would be tried again.
  spend_refused: entry(402, Code.FailedPrecondition),
  sponsor_missing: entry(409, Code.FailedPrecondition),
  stale_epoch: entry(409, Code.Aborted),
  state_conflict: entry(409, Code.FailedPrecondition),
  team_protected: entry(409, Code.FailedPrecondition),
  token_invalid: entry(401, Code.Unauthenticated),
  too_many_streams: entry(429, Code.ResourceExhausted, true),
  totp_already_enrolled: entry(409, Code.FailedPrecondition),
  totp_invalid: entry(401, Code.Unauthenticated),
  totp_not_pending: entry(409, Code.FailedPrecondition),
  totp_required: entry(401, Code.Unauthenticated),
  unavailable: entry(503, Code.Unavailable, true),
  unsupported_media_type: entry(415, Code.InvalidArgument),
  username_taken: entry(409, Code.AlreadyExists),
  validation_failed: entry(400, Code.InvalidArgument),
  variable_managed: entry(409, Code.FailedPrecondition),
  version_taken: entry(409, Code.AlreadyExists),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export interface ApiErrorOptions {
  /** Machine-readable particulars, JSON values only: ids, limits, `fields`, `nextOffset`. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Sent as `Retry-After`, rounded up to whole seconds. */
  readonly retryAfterMs?: number;
  /** Extra response headers, lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides the table, for a code that is usually final but not this time, or the other way round. */
  readonly retryable?: boolean;
  /** Error inside, for the log alone. */
  readonly cause?: unknown;
}

/**
 * An error that a caller may see. `message`: what failed, actual value, limit, next step; lower-case, no full
 * stop.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterMs: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    // A refusal says what was wrong with the request and not where it was found: in a flood of them the
    // stacks take a seventh of the processor time.
    if (ERRORS[code].status < 500) Error.stackTraceLimit = 0;
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ApiError';
    this.code = code;
    this.status = ERRORS[code].status;
    this.retryable = options.retryable ?? ERRORS[code].retryable;
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
    this.headers = options.headers;
  }

  /** Connect and gRPC code. */
  get connect(): Code {
    return ERRORS[this.code].connect;
  }
}

export function apiError(code: ErrorCode, message: string, options?: ApiErrorOptions): ApiError {
  return new ApiError(code, message, options);
}

/** What the caller is told about anything thrown. Only an ApiError keeps its text. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal', 'something went wrong on our side; the request id names it in our log', {
    cause: error,
  });
}

export interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly requestId: string;
    readonly retryable: boolean;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

/** Makes the one public shape of an error, on REST and as the data of an `error` event. */
export function errorBody(error: ApiError, requestId: string): ErrorBody {
  return {
    error: {
      code: error.code,
      message: error.message,
      requestId,
      retryable: error.retryable,
      ...(error.details === undefined ? {} : { details: error.details }),
    },
  };
}
