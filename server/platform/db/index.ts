export { openDatabase } from './database.ts';
export type { Database, DatabaseOptions } from './database.ts';
export type { SqlTag, SqlValue } from './statement.ts';
export { nextEpoch } from './generation.ts';
export { isConnectionError, isForeignKeyViolation, isUniqueViolation, mapDatabaseError } from './errors.ts';
export { migrate } from './migrate.ts';
export { prepareWorkRole } from './role.ts';
export { assertSession, SessionRefused } from './session.ts';
