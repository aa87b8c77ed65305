/** What the database refused, in terms that the rest of the server decides by. */
import { ApiError, apiError } from '@svc/proto/http/errors.ts';

interface DriverError extends Error {
  readonly code?: unknown;
  readonly constraint_name?: unknown;
}

/** Losing the connection, not getting one, or a server that is going down or takes no writes: the statement's outcome may be unknown. */
const CONNECTION_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'NOT_PRIMARY', // a standby, see opening.ts
  '25006', // a statement that writes, and a database that takes none: it was demoted
  '25P03', // idle_in_transaction_session_timeout: the backend ends itself
  '53300', // too many connections
  '57P01', // admin shutdown, pg_terminate_backend
  '57P02', // crash shutdown
  '57P03', // cannot connect now
]);

/** The server answered that it could not do it in time or in this order: doing the same again may work. */
const RETRY_CODES = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '53100', // disk full
  '53200', // out of memory
  '55P03', // lock_timeout
  '57014', // statement_timeout
]);

const TEXT_CODES = new Set(['22021', '22P05']); // text that PostgreSQL cannot store, such as U+0000

/** The driver's own error, also from inside of drizzle's wrapper. */
function driverError(error: unknown): DriverError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if (typeof (at as DriverError).code === 'string' && !(at instanceof ApiError)) return at;
  }
  return undefined;
}

export function isConnectionError(error: unknown): boolean {
  const code = driverError(error)?.code;
  return typeof code === 'string' && CONNECTION_CODES.has(code);
}

/** True when hosts answered, and the last one is a standby. */
export function isStandbyOnly(error: unknown): boolean {
  return driverError(error)?.code === 'NOT_PRIMARY';
}

/** A read on a standby that stood in the way of what the primary had done. */
export function isRecoveryConflict(error: unknown): boolean {
  return driverError(error)?.code === '40001';
}

/** True for a unique violation, of the named index or constraint if one is given. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const found = driverError(error);
  return found?.code === '23505' && (constraint === undefined || found.constraint_name === constraint);
}

/** True when a row that is referred to does not exist (any more). */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  const found = driverError(error);
  return found?.code === '23503' && (constraint === undefined || found.constraint_name === constraint);
}

/** Turns what every caller would treat alike into an ApiError; leaves the rest as it is. */
export function mapDatabaseError(error: unknown): unknown {
  const code = driverError(error)?.code;
  if (typeof code !== 'string') return error;
  if (CONNECTION_CODES.has(code)) {
    return apiError('unavailable', 'the database cannot be reached; try again', {
      retryAfterMs: 1_000,
      cause: error,
    });
  }
  if (RETRY_CODES.has(code)) {
    return apiError('unavailable', 'the database did not finish in time; try again', {
      retryAfterMs: 1_000,
      cause: error,
    });
  }
  if (TEXT_CODES.has(code)) {
    return apiError('validation_failed', 'a text holds a character that cannot be stored (U+0000)', {
      cause: error,
    });
  }
  return error;
}
