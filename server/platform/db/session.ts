/**
 * Whether a session has what it asked for in its first packet: the role and the limits. A pooler may refuse that packet, or be told to let it pass and to forget what is in it. Then the server
 * would own the append-only tables that it works on, and no statement would have a limit: it does not start.
 */
import postgres from 'postgres';
import { SESSION_LIMITS } from './connection.ts';
import { STATEMENT_TIMEOUT_MS } from './database.ts';
import type { Database } from './database.ts';
import { isConnectionError } from './errors.ts';

/** The message is for an operator, and names what to do. */
export class SessionRefused extends Error {}

const DIRECT =
  'Let DATABASE_URL lead to PostgreSQL itself: the server pools its connections and relies on the settings of each';

interface Settings {
  readonly user: string;
  /** Milliseconds by name. */
  readonly limits: Readonly<Record<string, number>>;
}

const LIMITS = { statement_timeout: STATEMENT_TIMEOUT_MS, ...SESSION_LIMITS };

export async function assertSession({ sql }: Database, role?: string): Promise<void> {
  const [settings] = await sql<Settings[]>`
    select current_user as "user", json_object_agg(name, setting::integer) as limits
    from pg_settings where name = any(${Object.keys(LIMITS)}::text[])
  `.catch(explainRefusal);
  const { user, limits } = settings!;
  const missing = [
    ...(role === undefined || user === role ? [] : [`the role is ${user}, not ${role}`]),
    ...Object.entries(LIMITS).flatMap(([name, ms]) =>
      limits[name] === ms ? [] : [`${name} is ${limits[name]} ms, not ${ms} ms`],
    ),
  ];
  if (missing.length > 0)
    throw new SessionRefused(
      `the database, or a pooler before it, dropped settings of the session: ${missing.join(', ')}. ${DIRECT}`,
    );
}

function explainRefusal(error: unknown): never {
  if (!(error instanceof postgres.PostgresError) || isConnectionError(error)) throw error;
  const isPooler = error.message.startsWith('unsupported startup parameter');
  throw new SessionRefused(
    `the database refuses the connection (${error.message}). ${isPooler ? `A pooler says so. ${DIRECT}` : 'Check DATABASE_URL'}`,
  );
}
