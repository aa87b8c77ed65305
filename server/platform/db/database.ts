/**
 * One database handle for the whole server: `sql` for statements that are written by hand, `orm` for typed ones
 * by drizzle (both prepared), `transact` for several statements in one. The driver runs behind client.ts and guard.ts, because as it comes it
 * loses acknowledged writes.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import { createClient } from './client.ts';
import type { Client, SqlTag } from './client.ts';
import { guardTransaction } from './guard.ts';
import type { Guard } from './guard.ts';
import { startListener } from './listener.ts';
import type { Listener } from './listener.ts';
import { createSlots } from './slots.ts';
import type { Slots } from './slots.ts';

export type { SqlTag } from './client.ts';
export type Row = postgres.Row;
/** Transactions are begun by `transact` alone, so that none escapes the guard. */
export type Orm = Omit<PostgresJsDatabase, 'transaction'>;

export interface Database {
  readonly sql: SqlTag;
  /** Typed queries by drizzle: `await db.orm.select().from(table)`. The same inside of `transact`, by the handle that it passes. */
  readonly orm: Orm;
  /** True for the handle that `transact` passes. */
  readonly inTransaction: boolean;
  /** All or nothing. Inside of a transaction it joins the one that runs. The callback must use the handle that it gets. */
  transact<T>(work: (db: Database) => Promise<T>): Promise<T>;
  /** Runs after the commit of the outermost transaction, not at all after a rollback; outside of one, at once. Must not throw. */
  afterCommit(action: () => void): void;
  /**
   * On a connection of its own, which comes back by itself. NOTIFY is a hint: what is sent while it is down is lost. `onReady` runs
   * after each (re)connect, to read the state again. The channel is a plain name.
   */
  listen(channel: string, onPayload: (payload: string) => void, onReady: () => void): Promise<Listener>;
  /** Waits `graceMs` for what runs, then cuts. */
  close(graceMs?: number): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Connections. Default 10. */
  readonly max?: number;
  /** Server-side limit of one statement. Default 5,000 ms. */
  readonly statementTimeoutMs?: number;
  /** How long a transaction waits for a connection. Default 5,000 ms. */
  readonly poolWaitMs?: number;
  /** Shown in pg_stat_activity. */
  readonly name?: string;
  /** Works under this role instead of as the user of the URL; see role.ts. */
  readonly role?: string | undefined;
  /** An `afterCommit` action that threw against its promise. */
  readonly onError?: (error: unknown) => void;
}

const WAITERS_MAX = 1_000;

/**
 * drizzle's builder over statements of ours. It overwrites the parsers of the client that it is given, so that dates would come back as text for everybody; this gives it
 * some of its own to overwrite. Its statements are prepared like those of the template: a list of values belongs into one array parameter, because each length of `inArray` is a statement of its own.
 */
function ormOver(sql: SqlTag): Orm {
  const unsafe = (text: string, values: never[]): unknown => sql.unsafe(text, values, { prepare: true });
  const client = { unsafe, options: { parsers: {}, serializers: {} } };
  return drizzle(client as unknown as postgres.Sql);
}

export function openDatabase(options: DatabaseOptions): Database {
  const { url, max = 10, statementTimeoutMs = 5_000, name = 'svc', role } = options;
  const client = createClient({ url, max, statementTimeoutMs, name, role });
  // One connection stays free of transactions, so that plain statements never wait for one to end.
  const slots = createSlots({
    count: Math.max(1, max - 1),
    waitMs: options.poolWaitMs ?? 5_000,
    waitersMax: WAITERS_MAX,
  });
  const onError = options.onError ?? (() => undefined);
  return {
    sql: client.sql,
    orm: ormOver(client.sql),
    inTransaction: false,
    transact: async (work) => await runTransaction(client, slots, work, onError),
    afterCommit: (action) => action(),
    listen: async (channel, onPayload, onReady) =>
      await startListener({ url, role, channel, onPayload, onReady }),
    close: async (graceMs = 5_000) => await client.end(graceMs),
  };
}

async function runTransaction<T>(
  client: Client,
  slots: Slots,
  work: (db: Database) => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T> {
  const giveBack = await slots.take();
  const actions: Array<() => void> = [];
  let result: T;
  try {
    result = await beginGuarded(client, async (sql) => await work(new Bound(sql, actions)));
  } finally {
    giveBack();
  }
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      onError(error); // The commit stands; a failed follow-up must not look like a failed call.
    }
  }
  return result;
}

/** `begin()` with the guard around the handle that the callback gets, and around what the driver does after it. */
function beginGuarded<T>(client: Client, work: (sql: SqlTag) => Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let guard: Guard | undefined;
    const never = new Promise<never>(() => undefined);
    client
      .begin(async (handle) => {
        const own = guardTransaction(handle);
        guard = own;
        const [outcome] = await Promise.allSettled([work(own.sql)]);
        own.end(new Error('the callback of the transaction has returned'));
        if (own.lost()) {
          // Settling would make the driver send `commit` or `rollback` into whatever replaced the connection.
          reject(
            outcome.status === 'rejected' ? outcome.reason : new Error('the transaction lost its connection'),
          );
          return await never;
        }
        if (outcome.status === 'rejected') throw outcome.reason;
        return { value: outcome.value };
      })
      .then((done) => resolve(done.value))
      .catch((error: unknown) => {
        guard?.lose(error);
        reject(error);
      });
  });
}

/** The handle of one transaction. A class for its getter's sake, see statement.ts. */
class Bound implements Database {
  readonly inTransaction = true;
  readonly sql: SqlTag;
  readonly #actions: Array<() => void>;
  #orm: Orm | undefined;

  constructor(sql: SqlTag, actions: Array<() => void>) {
    this.sql = sql;
    this.#actions = actions;
  }

  get orm(): Orm {
    return (this.#orm ??= ormOver(this.sql));
  }

  async transact<T>(work: (db: Database) => Promise<T>): Promise<T> {
    return await work(this);
  }

  afterCommit(action: () => void): void {
    this.#actions.push(action);
  }

  async listen(): Promise<never> {
    return await Promise.reject(new Error('listen needs the database itself, not a transaction'));
  }

  async close(): Promise<never> {
    return await Promise.reject(new Error('close needs the database itself, not a transaction'));
  }
}
