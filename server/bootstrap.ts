/**
 * The first start makes both regions, the service's own pool, a staff account, its team and two API keys. It
 * runs in one transaction under an advisory lock, so that of several servers on an empty database one does
 * it. The secrets go to `DATA_DIR/bootstrap.json` (0600) before the commit: a file without its rows is
 * written anew by the next start, rows without their file could never be used.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUser } from './access/accounts/index.ts';
import type { Passwords } from './base/password.ts';
import { insertApiKey } from './access/apikeys/index.ts';
import { appendAudit, PLATFORM_CHAIN, type AuditAct } from './kit/ledger/index.ts';
import { randomBase62 } from './base/base62.ts';
import type { Clock } from './base/clock.ts';
import { prepareDataDir } from './base/data-folder.ts';
import type { Database } from './base/db/index.ts';
import { newId } from './base/ids.ts';
import { BY_NAME_ALONE, STAFF_SCOPE, TEAM_SCOPES } from './kit/scopes.ts';
import type { Secrets } from './base/secrets.ts';
import { insertRegion } from './engine/regions/index.ts';
import { insertMember, insertTeam } from './access/teams/index.ts';

export interface Bootstrap {
  readonly baseUrl: string;
  readonly staffEmail: string;
  readonly staffPassword: string;
  readonly staffApiKey: string;
  readonly teamId: string;
  readonly apiKey: string;
}

export interface BootstrapDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly passwords: Passwords;
  readonly dataDir: string;
  readonly baseUrl: string;
}

const LOCK_KEY = 7_205_759_405;
const DONE = 'bootstrap.done_at';
const KEY_ID = 'secrets.key_id';
const STAFF_EMAIL = 'staff@svc.local';
const KEY_LIFE_MS = 365 * 86_400_000;
const KEY_SCOPES = TEAM_SCOPES.filter((scope) => !BY_NAME_ALONE.has(scope));
const FIRST_START = { kind: 'system', id: 'first_start', display: 'first start' } as const;
/** The password's hash is made before the lock is taken, and another server may hold it for as long. */
const LOCK_WAIT = '60s';

/** Returns what it made, or undefined when an earlier start had done it. */
export async function bootstrap(deps: BootstrapDeps): Promise<Bootstrap | undefined> {
  const { db, secrets } = deps;
  if (await isDone(db, secrets)) return undefined;
  const staffPassword = randomBase62(24);
  const passwordHash = await deps.passwords.hash(staffPassword);
  return await db.transact(async (tx) => {
    await tx.sql.unsafe(
      `set local lock_timeout = '${LOCK_WAIT}'; set local statement_timeout = '${LOCK_WAIT}'`,
    );
    await tx.sql`select pg_advisory_xact_lock(${LOCK_KEY})`;
    if (await isDone(tx, secrets)) return undefined;
    const made = await fill(deps, tx, { staffPassword, passwordHash });
    await tx.sql`insert into settings (key, value) values (${KEY_ID}, ${secrets.keyId}), (${DONE}, ${deps.clock.now().toISOString()})`;
    write(deps.dataDir, made);
    return made;
  });
}

/** Throws when it was set up with another key-encryption key. */
export async function isDone(
  { sql }: Pick<Database, 'sql'>,
  secrets: Pick<Secrets, 'keyId'>,
): Promise<boolean> {
  const rows = await sql<
    Array<{ key: string; value: string }>
  >`select key, value from settings where key in (${KEY_ID}, ${DONE})`;
  const values = new Map(rows.map((row) => [row.key, row.value]));
  const keyId = values.get(KEY_ID);
  if (keyId !== undefined && keyId !== secrets.keyId) {
    throw new Error(
      `this database was set up with the key-encryption key ${keyId}, this server has ${secrets.keyId}: ` +
        'set SECRETS_KEY to the key of the installation (DATA_DIR/secrets.key of its first server)',
    );
  }
  return values.has(DONE);
}

async function fill(
  deps: BootstrapDeps,
  db: Database,
  password: { staffPassword: string; passwordHash: string },
): Promise<Bootstrap> {
  const now = deps.clock.now();
  const ms = now.getTime();
  const record = async (act: Omit<AuditAct, 'actor' | 'requestId'>): Promise<number> =>
    await appendAudit(db, { ...act, actor: FIRST_START, requestId: '' }, now);
  const regionId = newId('reg', ms);
  await insertRegion(db, { id: regionId, name: 'service', operator: 'service' });
  await insertRegion(db, { id: newId('reg', ms), name: 'customer', operator: 'customer' });
  const userId = newId('user', ms);
  const staff = {
    id: userId,
    email: STAFF_EMAIL,
    username: 'staff',
    staff: true,
    passwordHash: password.passwordHash,
    emailVerifiedAt: now,
    createdAt: now,
  };
  await createUser(db, staff);
  const [poolId, teamId] = [newId('team', ms), newId('team', ms)];
  for (const team of [
    { id: poolId, name: 'service pool', servicePool: true },
    { id: teamId, name: 'first team', servicePool: false },
  ]) {
    await insertTeam(db, { ...team, regionId, createdAt: now, payerId: userId });
    await insertMember(db, { teamId: team.id, userId, role: 'owner', joinedAt: now });
    await record({ chain: team.id, action: 'team.created', target: team.id, details: { name: team.name } });
  }
  const key = async (name: string, scopes: readonly string[]): Promise<string> => {
    const expiresAt = new Date(ms + KEY_LIFE_MS);
    const created = await insertApiKey(db, deps, { userId, name, scopes, expiresAt });
    await record({
      chain: PLATFORM_CHAIN,
      action: 'api_key.created',
      target: created.id,
      details: { name, scopes, expiresAt: expiresAt.toISOString() },
    });
    return created.secret;
  };
  return {
    baseUrl: deps.baseUrl,
    staffEmail: STAFF_EMAIL,
    staffPassword: password.staffPassword,
    staffApiKey: await key('first start, staff', [...KEY_SCOPES, STAFF_SCOPE]),
    teamId,
    apiKey: await key('first start', KEY_SCOPES),
  };
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'bootstrap.json');
}

function write(dataDir: string, content: Bootstrap): void {
  prepareDataDir(dataDir);
  const path = pathOf(dataDir);
  writeFileSync(`${path}.new`, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** The address may be another one than at the first start, or was not known yet then (PORT=0). */
export function noteBaseUrl(dataDir: string, baseUrl: string): void {
  let known: Bootstrap;
  try {
    known = JSON.parse(readFileSync(pathOf(dataDir), 'utf8')) as Bootstrap;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // set up by another server
    throw error;
  }
  if (known.baseUrl !== baseUrl) write(dataDir, { ...known, baseUrl });
}
