/** Settings that lead to the database of another installation, by what an operator starts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { startAllInOne } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { useFolder } from '../../../test/setup/use-folder.ts';
import { openDatabase } from './database.ts';
import { isWrongDatabase } from './errors.ts';
import { installationOf } from './identity.ts';

describe.skipIf(!(await has('postgres')))('the database of another installation', () => {
  const folder = useFolder();
  let own: TestDatabase;
  let other: TestDatabase;
  let empty: Awaited<ReturnType<typeof createEmptyDatabase>>;
  beforeAll(async () => {
    [own, other, empty] = await Promise.all([
      createTestDatabase(),
      createTestDatabase(),
      createEmptyDatabase(),
    ]);
  });
  afterAll(async () => {
    await Promise.all([own, other, empty].map(async (each) => await each?.drop()));
  });

  const tablesOf = async (url: string): Promise<number> => {
    const db = openDatabase({ url, max: 2 });
    const { count } = await db.sql`select from pg_tables where schemaname = 'public'`;
    await db.close(0);
    return count;
  };
  const started = async (env: Readonly<Record<string, string>>): Promise<string> => {
    try {
      await (await startAllInOne({ DATA_DIR: folder, ...env })).stop();
    } catch (error) {
      return (error as Error).message;
    }
    return 'it started';
  };

  it.each(['LISTEN_DATABASE_URL', 'REPLICA_URL'])(
    'is refused by the name of %s, before anything is written there or here',
    async (setting) => {
      const here = await createEmptyDatabase();
      const refusal = new RegExp(
        `^${setting} leads to another database than DATABASE_URL .+/\\d+.+Nothing was written`,
      );
      expect(await started({ DATABASE_URL: here.url, [setting]: empty.url })).toMatch(refusal);
      expect(await started({ DATABASE_URL: own.url, [setting]: empty.url })).toMatch(refusal);
      expect(await started({ DATABASE_URL: own.url, [setting]: other.url })).toMatch(refusal);
      expect(await Promise.all([empty.url, here.url].map(tablesOf))).toEqual([0, 0]);
      await here.drop();
    },
  );

  it('is this one when both lead there, and then it is of use', async () => {
    const env = { DATABASE_URL: own.url, LISTEN_DATABASE_URL: own.url, REPLICA_URL: own.url };
    expect(await started(env)).toBe('it started');
  });

  it('is left when it takes the place of this one later, and whoever asks is told of the setting', async () => {
    const installation = await installationOf(own.db);
    expect(installation).toMatch(/^ins_/);
    expect(await installationOf(other.db)).not.toBe(installation);
    for (const url of [other.url, empty.url]) {
      const db = openDatabase({ url, installation, max: 2 });
      const error: unknown = await db.sql`select 1`.catch((thrown: unknown) => thrown);
      expect(isWrongDatabase(error)).toBe(true);
      expect((error as Error).message).toMatch(/^DATABASE_URL leads to a database of another installation/);
      await db.close(0);
      const around = openDatabase({ url: own.url, listenUrl: url, installation, max: 2 });
      const nothing = (): void => undefined;
      await expect(around.listen('any', nothing, nothing)).rejects.toThrow(/^LISTEN_DATABASE_URL leads to/);
      await around.close(0);
    }
  });

  it('is not read from as a replica, which is told once', async () => {
    const told: string[] = [];
    const onError = (error: unknown): void => void told.push((error as Error).message);
    const db = openDatabase({ url: own.url, replicaUrl: other.url, max: 2, onError });
    await waitFor('the word', () => told.length, { holds: (count) => count > 0 });
    const [row] = await db.behind.sql<Array<{ name: string }>>`select current_database()::text as name`;
    expect(row?.name).toBe(new URL(own.url).pathname.slice(1));
    expect(told).toEqual([expect.stringMatching(/^REPLICA_URL leads to another database/)]);
    await db.close(0);
  });
});
