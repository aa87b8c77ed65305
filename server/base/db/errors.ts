/** This file says what the database refused, in terms that the rest of the server decides by. */
import { ApiError, apiError } from '@svc/proto/http/errors.ts';

interface DriverError extends Error {
  readonly code?: unknown;
  readonly constraint_name?: unknown;
  readonly syscall?: unknown;
}

/**
 * Losing the connection, not getting one, or a server that is going down or takes no writes: the statement's
 * outcome may be unknown.
 */
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
  'WRONG_DATABASE', // of another installation, see opening.ts
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
  '53200', // out of memory
  '55P03', // lock_timeout
  '57014', // statement_timeout
]);

const TEXT_CODES = new Set(['22021', '22P05']); // text that PostgreSQL cannot store, such as U+0000

/** This returns the driver's own error, also from inside of drizzle's wrapper. */
function driverError(error: unknown): DriverError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if (typeof (at as DriverError).code === 'string' && !(at instanceof ApiError)) return at;
  }
  return undefined;
}

export function isConnectionError(error: unknown): boolean {
  const found = driverError(error);
  return found !== undefined && isOfConnection(found);
}

/** A file that is missing has the code of a socket that is. */
const isOfConnection = ({ code, syscall }: DriverError): boolean =>
  CONNECTION_CODES.has(String(code)) && (code !== 'ENOENT' || syscall === 'connect');

const FULL: Readonly<Record<string, string>> = {
  '53100': 'the disk of the database is full; whoever operates it must make room',
  EDQUOT: 'the disk of the server is full; whoever operates it must make room',
  ENOSPC: 'the disk of the server is full; whoever operates it must make room',
};
/** A disk on which nobody makes room is met again in this time, by background work alone. */
const FULL_MS = 60_000;
let metFullMs = Number.NEGATIVE_INFINITY;
let metFull: string | undefined;

/** Says which disk it is, if an error is that one is full. Remembered for a minute: see `lastDiskFull`. */
export function diskFull(error: unknown): string | undefined {
  const code = String(driverError(error)?.code);
  const met = Object.hasOwn(FULL, code) ? FULL[code] : undefined;
  if (met === undefined) return undefined;
  [metFull, metFullMs] = [met, performance.now()];
  return met;
}

/** Returns which full disk this process has met within the last minute, if any. */
export const lastDiskFull = (): string | undefined =>
  performance.now() - metFullMs < FULL_MS ? metFull : undefined;

/**
 * The server answered that it could not do it in time, or in this order, or has no room: doing the same again
 * may work.
 */
export function isRetryable(error: unknown): boolean {
  const code = driverError(error)?.code;
  return typeof code === 'string' && (RETRY_CODES.has(code) || Object.hasOwn(FULL, code));
}

/**
 * The database is well and refused this very statement, by what it says or by what else is under way. Not
 * when it lacks room (class 53), which no other statement would have.
 */
export function isRefusal(error: unknown): boolean {
  const code = driverError(error)?.code;
  if (typeof code !== 'string' || CONNECTION_CODES.has(code)) return false;
  return /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('53');
}

const hasCode =
  (code: string) =>
  (error: unknown): boolean =>
    driverError(error)?.code === code;

export const isTableMissing = hasCode('42P01');
/** True when the host that answered holds the database of another installation. */
export const isWrongDatabase = hasCode('WRONG_DATABASE');
export const isStatementTimeout = hasCode('57014');
/** True when hosts answered, and the last one is a standby. */
export const isStandbyOnly = hasCode('NOT_PRIMARY');
/** True for a read on a standby that stood in the way of what the primary had done. */
export const isRecoveryConflict = hasCode('40001');

const violates =
  (code: string) =>
  (error: unknown, constraint?: string): boolean => {
    const found = driverError(error);
    return found?.code === code && (constraint === undefined || found.constraint_name === constraint);
  };

/** True for a unique violation, of the named index or constraint if one is given. */
export const isUniqueViolation = violates('23505');
/** True when a row that is referred to does not exist (any more). */
export const isForeignKeyViolation = violates('23503');

/** Turns what every caller would treat alike into an ApiError; leaves the rest as it is. */
export function mapDatabaseError(error: unknown): unknown {
  const found = driverError(error);
  const code = found?.code;
  if (found === undefined || typeof code !== 'string') return error;
  const unavailable = (message: string, retryAfterMs: number) =>
    apiError('unavailable', message, { retryAfterMs, cause: error });
  const full = diskFull(error);
  if (full !== undefined) return unavailable(full, 10_000);
  if (isOfConnection(found)) return unavailable('the database cannot be reached; try again', 1_000);
  if (RETRY_CODES.has(code)) return unavailable('the database did not finish in time; try again', 1_000);
  return TEXT_CODES.has(code)
    ? apiError('validation_failed', 'a text holds a character that cannot be stored (U+0000)', {
        cause: error,
      })
    : error;
}

/** Passes on that an address leads to another database: once, until it leads to this one again. */
export function onceWhileWrong(tell: (error: unknown) => void): (error: unknown) => void {
  let isTold = false;
  return (error) => {
    if (error === undefined) isTold = false;
    if (!isWrongDatabase(error) || isTold) return;
    isTold = true;
    tell(error);
  };
}
