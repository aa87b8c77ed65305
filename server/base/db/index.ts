export { addressOf, hostName, readAddress } from './address.ts';
export { openDatabase, STATEMENT_TIMEOUT_MS } from './database.ts';
export type { Database, DatabaseOptions, Reads } from './database.ts';
export { Fragment } from './statement.ts';
export type { SqlTag, SqlValue } from './statement.ts';
export { nextEpoch, readHistory } from './generation.ts';
export {
  diskFull,
  isConnectionError,
  isForeignKeyViolation,
  isRefusal,
  isRetryable,
  isStandbyOnly,
  isStatementTimeout,
  isUniqueViolation,
  isWrongDatabase,
  lastDiskFull,
  mapDatabaseError,
} from './errors.ts';
export { assertOneDatabase, assertWay, installationOf, placeAt, waysOf } from './identity.ts';
export { migrate } from './migrate.ts';
export { prepareWorkRole, WORK_ROLE } from './role.ts';
export { assertSession, SessionRefused } from './session.ts';
export { NOT_SYNCHRONOUS, readSynchrony, watchSynchrony } from './synchronous.ts';
