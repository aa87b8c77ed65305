import type { Database } from '../../../base/db/index.ts';
import type { Connection } from './connection.ts';

/** The transaction in which events about runs of a connection are recorded, and the time that counts as their receipt. */
export interface Recording {
  readonly db: Database;
  readonly connection: Connection;
  readonly now: Date;
}
