/** A server starts only where its sessions get what they ask for; otherwise it says what is in the way. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { DATABASE_URL, has } from '../../../test/setup/needs.ts';
import { startPooler } from '../../../test/setup/pooler.ts';
import { openDatabase } from './database.ts';
import { prepareWorkRole, WORK_ROLE } from './role.ts';
import { assertSession, SessionRefused } from './session.ts';

const LIMITS = [
  'statement_timeout',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'enable_seqscan',
  'jit',
];

/** The refusal, or undefined. */
async function refusal(url: string, role?: string): Promise<unknown> {
  const db = openDatabase({ url, role, max: 2 });
  try {
    return await assertSession(db, role).catch((error: unknown) => error);
  } finally {
    await db.close(0);
  }
}

describe.skipIf(!(await has('postgres')) || !(await has('pgbouncer')))('a session', () => {
  let test: Awaited<ReturnType<typeof createEmptyDatabase>>;
  beforeAll(async () => {
    test = await createEmptyDatabase();
    const owner = openDatabase({ url: test.url, max: 2 });
    await prepareWorkRole(owner);
    await owner.close();
  });
  afterAll(async () => await test?.drop());

  const refused = (...parts: string[]) =>
    expect.toSatisfy(
      (error: unknown) =>
        error instanceof SessionRefused && parts.every((part) => error.message.includes(part)),
    );

  it('has its role and its limits', async () => {
    expect(await refusal(test.url, WORK_ROLE)).toBeUndefined();
  });

  it('is not had through a pooler that refuses them', async () => {
    const pooler = await startPooler([]);
    try {
      expect(await refusal(pooler.through(test.url), WORK_ROLE)).toEqual(
        refused('unsupported startup parameter', 'PostgreSQL itself'),
      );
    } finally {
      await pooler.stop();
    }
  });

  it('is not had through a pooler that lets them pass and forgets them', async () => {
    const pooler = await startPooler(['role', 'application_name', ...LIMITS]);
    try {
      expect(await refusal(pooler.through(test.url), WORK_ROLE)).toEqual(
        refused(
          `not ${WORK_ROLE}`,
          'statement_timeout is 0 ms, not 5000 ms',
          'lock_timeout is 0 ms, not 2000 ms',
          'PostgreSQL itself',
        ),
      );
    } finally {
      await pooler.stop();
    }
  });

  it('is not had of a database that is not there', async () => {
    const missing = new URL(DATABASE_URL);
    missing.pathname = '/svc_not_there';
    expect(await refusal(missing.href)).toEqual(
      refused('database "svc_not_there" does not exist', 'Check DATABASE_URL'),
    );
  });
});
