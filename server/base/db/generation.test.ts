/**
 * A database that is not the one that it was: a dump that was put back, and a copy. A promotion has its own
 * tests (failover.test.ts).
 */
import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { nextEpoch, openDatabase, readHistory, WORK_ROLE } from './index.ts';

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

describe.skipIf(!(await has('postgres')) || !(await has('replication')))('a new generation', () => {
  const test = useDatabase();
  beforeAll(async () => void (await test.db.sql`update nonce_store set since = '-infinity'`));

  /** As a server meets it; what it was told. */
  const met = async (url: string) => {
    const told: number[] = [];
    const db = openDatabase({ url, max: 2, role: WORK_ROLE, onGeneration: (number) => told.push(number) });
    try {
      const [row] = await db.sql`
        select ${nextEpoch(db.sql, sqlOf(db.sql, 7))} as epoch, (select since > '-infinity' from nonce_store) as anew`;
      return { told, ...row, history: await readHistory(db.sql) };
    } finally {
      await db.close(0);
    }
  };
  const sqlOf = (sql: typeof test.db.sql, epoch: number) => sql`${epoch}::int`;

  it('is begun by no server of the database itself', async () => {
    for (let start = 0; start < 2; start += 1)
      expect(await met(test.url)).toEqual({
        told: [],
        epoch: 8,
        anew: false,
        history: { generation: 0, isCurrent: true },
      });
  });

  const begun = { told: [1], epoch: 65_537, anew: true, history: { generation: 1, isCurrent: true } };

  it('is begun once in a dump that was put back', async () => {
    const restored = await createEmptyDatabase();
    const dump = execFileSync('pg_dump', ['--no-privileges', '--dbname', test.url]);
    execFileSync('psql', ['--quiet', '--dbname', restored.url], {
      input: dump,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    const owner = openDatabase({ url: restored.url, max: 2 });
    await owner.sql.unsafe(`grant select, insert, update on all tables in schema public to ${WORK_ROLE}`);
    expect(await readHistory(owner.sql)).toEqual({ generation: 0, isCurrent: false });
    await owner.close();
    expect(await met(restored.url)).toEqual(begun);
    expect(await met(restored.url)).toEqual({ ...begun, told: [] });
    await restored.drop();
  });

  it('is begun in a copy beside the database', async () => {
    const admin = openDatabase({ url: new URL('/postgres', test.url).href, max: 2 });
    const copy = `${nameOf(test.url)}_copy`;
    await test.db.close();
    await admin.sql.unsafe(`create database ${copy} template ${nameOf(test.url)}`);
    expect(await met(new URL(`/${copy}`, test.url).href)).toEqual(begun);
    await admin.sql.unsafe(`drop database ${copy} with (force)`);
    await admin.close();
  });
});
