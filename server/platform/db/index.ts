export { openDatabase } from './database.ts';
export type { Database, DatabaseOptions, Listener, Orm, Row, SqlTag } from './database.ts';
export { isConnectionError, isForeignKeyViolation, isUniqueViolation, mapDatabaseError } from './errors.ts';
export { migrate } from './migrate.ts';
