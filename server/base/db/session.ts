/**
 * This file checks that sessions are kept: what opening.ts sets in one must still be set at the next
 * statement. A pooler in session mode keeps them. One in transaction mode gives each transaction any session
 * that is free: the server would own the append-only tables that it works on, and no statement would have a
 * limit. That is looked at before anything is set, since it would be set for others.
 */
import postgres from 'postgres';
import { openConnection, type Connection } from './connection.ts';
import { isConnectionError } from './errors.ts';
import { createHosts } from './hosts.ts';
import { settingsOf, type SessionOptions } from './opening.ts';

/** The message is for an operator, and names what to do. */
export class SessionRefused extends Error {}

export interface SessionNeeds extends SessionOptions {
  readonly url: string;
  /** The setting that holds the address. */
  readonly setting: string;
  /**
   * A session that listens, or makes tables, has to be kept. The others may be shared where each of them is
   * as it must be, and keeps prepared statements.
   */
  readonly mayBeShared: boolean;
}

/** Once more than a pooler needs to show what it does, for other clients of it that are in between. */
const ROUNDS = 5;

export async function assertSession(needs: SessionNeeds): Promise<void> {
  const { url, statementTimeoutMs } = needs;
  const hosts = createHosts(url, 'any');
  const open = (): Connection =>
    openConnection(
      { hosts, statementTimeoutMs, isBare: true, name: 'svc-session' },
      { onLost: () => undefined },
    );
  const [first, second] = [open(), open()];
  try {
    if (!(await isShared(first, second, needs))) return;
    const missing = [
      ...(needs.mayBeShared ? [] : ['nothing that is sent by NOTIFY would arrive']),
      ...(await differences(first, needs)),
      ...((await keepsPrepared(first, second)) ? [] : ['prepared statements get lost']),
    ];
    if (missing.length > 0) throw refusal(needs, missing);
  } finally {
    await Promise.all([first.end(), second.end()]);
  }
}

interface SessionSeen {
  /** Process id of the session. */
  readonly pid: number;
  /** Nothing is in between that has sessions of its own: whoever greeted is the session. */
  readonly isDirect: boolean;
}

async function look(connection: Connection): Promise<SessionSeen> {
  const answer = (await connection.run({ text: 'select pg_backend_pid() as pid' })) as Array<{
    pid: number;
  }> & { readonly state: { readonly pid: number } };
  const pid = answer[0]?.pid ?? 0;
  return { pid, isDirect: pid === answer.state.pid };
}

/**
 * The session of the first one is free between two of its statements: whether a transaction of the second one
 * gets it.
 */
async function isShared(first: Connection, second: Connection, needs: SessionNeeds): Promise<boolean> {
  const { pid, isDirect } = await look(first).catch((error: unknown) => explain(error, needs));
  if (isDirect) return false;
  for (let round = 0; round < ROUNDS; round += 1) {
    const others = await begin(second).catch((error: unknown) => explainSecond(error, needs));
    if (others === pid) return true;
    if ((await look(first)).pid !== pid) return true;
    await second.run({ text: 'rollback' });
  }
  return false;
}

async function begin(connection: Connection): Promise<number> {
  await connection.run({ text: 'begin' });
  return (await look(connection)).pid;
}

/** Names what is not as it must be of a session in which nothing was set. */
async function differences(connection: Connection, needs: SessionNeeds): Promise<string[]> {
  const { role: wanted, ...limits } = settingsOf(needs);
  const [row] = (await connection.run({
    text: 'select current_user as role, json_object_agg(name, setting) as settings from pg_settings where name = any($1::text[])',
    values: [Object.keys(limits)],
  })) as ReadonlyArray<{ readonly role: string; readonly settings: Readonly<Record<string, string>> }>;
  const { role, settings } = row!;
  return [
    ...(wanted === 'none' || role === wanted ? [] : [`the role is ${role}, not ${wanted}`]),
    ...Object.entries(limits).flatMap(([name, value]) =>
      settings[name] === value ? [] : [`${name} is ${settings[name]}, not ${value}`],
    ),
  ];
}

/** In a transaction, where the driver cannot help itself by preparing it again. */
async function keepsPrepared(first: Connection, second: Connection): Promise<boolean> {
  const prepared = { text: 'select $1::int', values: [1], isPrepared: true };
  await second.run({ text: 'rollback' });
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await begin(first);
    await first.run(prepared);
    await first.run({ text: 'rollback' });
    const taken = await begin(second);
    const after = await begin(first);
    const kept = await first.run(prepared).then(
      () => true,
      () => false,
    );
    await Promise.all([first, second].map(async (one) => await one.run({ text: 'rollback' })));
    if (!kept || (taken === before && after !== before)) return kept;
  }
  return true;
}

function refusal({ setting, mayBeShared, ...needs }: SessionNeeds, missing: readonly string[]) {
  const { role, ...limits } = settingsOf(needs);
  const commands = Object.entries(role === 'none' ? limits : { role, ...limits }).map(
    ([name, value]) => `alter role <the user of ${setting}> set ${name} = '${value}'`,
  );
  return new SessionRefused(
    [
      `the pooler at ${setting} does not keep sessions (transaction mode): ${missing.join(', ')}. Set its pool_mode to session, or let ${setting} lead to PostgreSQL itself`,
      mayBeShared
        ? `, or set the role and the limits for all sessions: ${commands.join('; ')}. Prepared statements need PgBouncer 1.21 with max_prepared_statements`
        : '; or set LISTEN_DATABASE_URL to PostgreSQL itself, and the role and the limits by alter role',
    ].join(''),
  );
}

function explain(error: unknown, { setting }: SessionNeeds): never {
  if (!(error instanceof postgres.PostgresError) || isConnectionError(error)) throw error;
  throw new SessionRefused(`the database refuses the connection (${error.message}): check ${setting}`);
}

function explainSecond(error: unknown, { setting }: SessionNeeds): never {
  throw new SessionRefused(
    `the pooler at ${setting} gives no second session (${error instanceof Error ? error.message : String(error)}): its pool must have at least DATABASE_CONNECTIONS and 3 more, and its mode must be session`,
  );
}
