/**
 * A server starts only where its sessions are kept with what they ask for; otherwise it says what is in the
 * way.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { DATABASE_URL, has } from '../../../test/setup/needs.ts';
import { startPooler, type Pooler } from '../../../test/setup/pooler.ts';
import { startAllInOne } from '../../../test/setup/server.ts';
import { openDatabase } from './database.ts';
import { settingsOf } from './opening.ts';
import { prepareWorkRole, WORK_ROLE } from './role.ts';
import { assertSession, SessionRefused } from './session.ts';

const SESSION = { statementTimeoutMs: 5_000, role: WORK_ROLE };

/** Returns the refusal, or undefined. */
async function refusal(url: string, mayBeShared = false): Promise<unknown> {
  const needs = { ...SESSION, url, setting: 'DATABASE_URL', mayBeShared };
  return await assertSession(needs).catch((error: unknown) => error);
}

const refused = (...parts: string[]) =>
  expect.toSatisfy(
    (error: unknown) =>
      error instanceof SessionRefused && parts.every((part) => error.message.includes(part)),
  );

describe.skipIf(!(await has('postgres')) || !(await has('pgbouncer')))('a session', () => {
  let test: Awaited<ReturnType<typeof createEmptyDatabase>>;
  const poolers: Partial<Record<'session' | 'transaction', Pooler>> = {};
  beforeAll(async () => {
    test = await createEmptyDatabase();
    const owner = openDatabase({ url: test.url, max: 2 });
    await prepareWorkRole(owner);
    await owner.close();
    for (const mode of ['session', 'transaction'] as const) poolers[mode] = await startPooler(mode);
  });
  afterAll(async () => {
    for (const pooler of Object.values(poolers)) await pooler.stop();
    await test?.drop();
  });
  const through = (mode: 'session' | 'transaction'): string => poolers[mode]?.through(test.url) ?? '';

  it.each(['directly', 'through a pooler in session mode'])(
    'has its role and its limits, and keeps them, %s',
    async (how) => {
      const url = how === 'directly' ? test.url : through('session');
      expect(await refusal(url)).toBeUndefined();
      const db = openDatabase({ url, role: WORK_ROLE, max: 4 });
      const { role, ...limits } = settingsOf(SESSION);
      const settings = async () => {
        const [row] = await db.sql<Array<{ role: string; settings: object }>>`
          select current_user as role, json_object_agg(name, setting) as settings
          from pg_settings, pg_sleep(0.05) where name = any(${Object.keys(limits)}::text[])`;
        return row;
      };
      for (let round = 0; round < 2; round += 1)
        expect(await Promise.all([1, 2, 3, 4].map(settings))).toEqual(
          Array.from({ length: 4 }, () => ({ role, settings: limits })),
        );
      await db.close();
    },
  );

  it('is not had through a pooler in transaction mode, and nothing is set there for others', async () => {
    expect(await refusal(through('transaction'))).toEqual(
      refused(
        'transaction mode',
        `not ${WORK_ROLE}`,
        'statement_timeout is 0, not 5000',
        'lock_timeout is 0, not 2000',
        'Set its pool_mode to session',
        'set LISTEN_DATABASE_URL',
        'alter role',
      ),
    );
    expect(await refusal(through('transaction'), true)).toEqual(
      refused(`alter role <the user of DATABASE_URL> set role = '${WORK_ROLE}'`, 'prepared statements'),
    );
    const other = openDatabase({ url: through('transaction'), max: 2, statementTimeoutMs: 0 });
    expect(await other.sql`select current_user as role`).toMatchObject([{ role: 'postgres' }]);
    await other.close();
  });

  it('of a pooler in transaction mode that has its role and its limits must keep prepared statements too', async () => {
    const owner = openDatabase({ url: test.url, max: 2 });
    const [row] = await owner.sql<Array<{ database: string; user: string }>>`
      select current_database() as database, current_user as "user"`;
    for (const [name, value] of Object.entries(settingsOf(SESSION)))
      await owner.sql.unsafe(`alter role ${row?.user} in database ${row?.database} set ${name} = '${value}'`);
    await owner.close();
    const pooler = await startPooler('transaction');
    try {
      const error = await refusal(pooler.through(test.url), true);
      expect(error).toEqual(refused('(transaction mode): prepared statements get lost. Set'));
    } finally {
      await pooler.stop();
    }
  });

  it('is not had of a database that is not there', async () => {
    const missing = new URL(DATABASE_URL);
    missing.pathname = '/svc_not_there';
    expect(await refusal(missing.href)).toEqual(
      refused('database "svc_not_there" does not exist', 'check DATABASE_URL'),
    );
  });

  it('is what a server starts with, or it does not start', async () => {
    const start = startAllInOne({ DATABASE_URL: through('transaction') });
    await expect(start).rejects.toThrow('does not keep sessions (transaction mode)');
  });
});
