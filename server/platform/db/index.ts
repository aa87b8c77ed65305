export { openDatabase } from './database.ts';
export type { Database, DatabaseOptions, Orm } from './database.ts';
export type { Fragment, Row, SqlTag, SqlValue, Statement } from './statement.ts';
export type { Listener } from './listener.ts';
export { isConnectionError, isForeignKeyViolation, isUniqueViolation, mapDatabaseError } from './errors.ts';
export { migrate } from './migrate.ts';
export { prepareWorkRole, WORK_ROLE } from './role.ts';
