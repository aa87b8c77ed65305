/** A migrated database for the tests of one block. */
import { afterAll, beforeAll } from 'vitest';
import type { DatabaseOptions } from '../../server/base/db/index.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** It has its fields once the tests run. */
export function useDatabase(options: Partial<DatabaseOptions> = {}): TestDatabase {
  const database = {} as TestDatabase;
  beforeAll(async () => void Object.assign(database, await createTestDatabase(options)));
  afterAll(async () => await (database as Partial<TestDatabase>).drop?.());
  return database;
}
