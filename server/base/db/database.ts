/**
 * This is the one database handle of the server: `sql` for statements that are written by hand, `orm` for
 * typed ones by drizzle (both prepared), `transact` for several in one transaction.
 */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import type { Target } from './address.ts';
import { createHosts } from './hosts.ts';
import { startListener, type Listener } from './listener.ts';
import { createPool, type Pool } from './pool.ts';
import { followReplica } from './replica.ts';
import { createSql, type Run, type SqlTag } from './statement.ts';
import { runTransaction } from './transaction.ts';

export const STATEMENT_TIMEOUT_MS = 5_000;
/** So many connections are for reads by key, where the others keep enough. */
const KEY_CONNECTIONS = 2;
const KEYS_FROM = 6;

/** Transactions are begun by `transact` alone. */
export type Orm = Omit<PostgresJsDatabase, 'transaction'>;

export type Reads = Pick<Database, 'sql' | 'orm' | 'arrays'>;

export interface Database {
  readonly sql: SqlTag;
  /**
   * `await db.orm.select().from(table)`. A list of values belongs into one array parameter: each length of
   * `inArray` is a text of its own, which the database prepares and keeps.
   */
  readonly orm: Orm;
  /** Sends a text that is made once and prepared; rows come as arrays, in the order of its columns. */
  arrays(text: string, values: readonly unknown[]): Promise<ReadonlyArray<readonly unknown[]>>;
  /**
   * For reads of few rows by their key, which wait for no lock: many of them share two connections, and so
   * the backends and the packets. In a transaction it is the handle of the transaction.
   */
  readonly byKey: Reads;
  /**
   * For reads that owe nobody their own write: a replica where there is one at most 5 s behind, else this
   * very database; see replica.ts.
   */
  readonly behind: Reads;
  /** True for the handle that `transact` passes. */
  readonly inTransaction: boolean;
  /**
   * Does all of the work or nothing. Inside of a transaction it joins the one that runs. The callback must
   * use the handle that it gets.
   */
  transact<T>(work: (db: Database) => Promise<T>): Promise<T>;
  /**
   * This runs the action after the commit of the outermost transaction, and not at all after a rollback;
   * outside of a transaction it runs at once. The action must not throw.
   */
  afterCommit(action: () => void): void;
  /**
   * Runs after a rollback of the outermost transaction, also one that nobody can be sure of, when its
   * connection was given back and before the caller is told; not at all after a commit, nor outside of one.
   * For what must stay of a refusal: it uses the database itself, and may find that its work was done.
   */
  afterRollback(action: () => Promise<void>): void;
  /**
   * Listens on a connection of its own, which comes back by itself. NOTIFY is a hint: what is sent while it
   * is down is lost. `onReady` runs after each (re)connect, to read the state again. The channel is a plain
   * name.
   */
  listen(channel: string, onPayload: (payload: string) => void, onReady: () => void): Promise<Listener>;
  /** Waits `graceMs` for what runs, then cuts. */
  close(graceMs?: number): Promise<void>;
}

export interface DatabaseOptions {
  /** One host or several; see address.ts. */
  readonly url: string;
  /** Around a pooler, for LISTEN. Default: `url`. */
  readonly listenUrl?: string | undefined;
  /** Address of a replica, for `behind`. */
  readonly replicaUrl?: string | undefined;
  /** The only host that is taken, as `hostName` writes it. */
  readonly only?: string;
  /** Hosts that are taken when the address does not say. Default `primary`. */
  readonly target?: Target;
  /** Connections, at least 2. Default 10. */
  readonly max?: number;
  /** Server-side limit of one statement. Default STATEMENT_TIMEOUT_MS. */
  readonly statementTimeoutMs?: number;
  /** Time that a transaction waits for a connection. Default 5,000 ms. */
  readonly poolWaitMs?: number;
  /** Shown in pg_stat_activity. */
  readonly name?: string;
  /** Works under this role instead of as the user of the URL; see role.ts. */
  readonly role?: string | undefined;
  /** Given: the database is asked for its generation at each connection; see generation.ts. */
  readonly onGeneration?: (generation: number) => void;
  /**
   * Given: it is asked of every connection, by whichever address, whether its database is of this
   * installation; see opening.ts.
   */
  readonly installation?: string | undefined;
  /**
   * An `afterCommit` action that threw against its promise, an `afterRollback` action that failed, an address
   * that leads to another database.
   */
  readonly onError?: (error: unknown) => void;
}

export function openDatabase(options: DatabaseOptions): Database {
  const {
    url,
    max = 10,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    poolWaitMs: waitMs = 5_000,
    name = 'svc',
    target = 'primary',
    listenUrl = url,
    replicaUrl,
    role,
    onGeneration,
    installation,
  } = options;
  const hosts = createHosts(url, target, options.only);
  const limits = { statementTimeoutMs, role };
  const at = (setting: string) => ({
    ...limits,
    installation: installation === undefined ? undefined : { id: installation, setting },
  });
  const session = { ...at('DATABASE_URL'), onGeneration };
  const onError = options.onError ?? (() => undefined);
  const ofKeys = max >= KEYS_FROM ? KEY_CONNECTIONS : 0;
  const pool = createPool({ ...session, hosts, max: Math.max(2, max - ofKeys), waitMs, name });
  const keys = ofKeys === 0 ? pool : createPool({ ...session, hosts, max: ofKeys, waitMs, name });
  const behind =
    replicaUrl === undefined
      ? undefined
      : followReplica(
          createPool({
            ...at('REPLICA_URL'),
            hosts: createHosts(replicaUrl, 'any'),
            max: Math.max(2, max),
            waitMs,
            name: 'svc-replica',
          }),
          { primary: pool.run, onError },
        );
  return {
    ...readsOf(pool.run),
    byKey: readsOf(keys.run),
    behind: readsOf(behind?.run ?? pool.run),
    inTransaction: false,
    transact: async (work) => await transact(pool, work, onError),
    afterCommit: (action) => action(),
    afterRollback: () => undefined,
    listen: async (channel, onPayload, onReady) =>
      await startListener({
        ...at(listenUrl === url ? 'DATABASE_URL' : 'LISTEN_DATABASE_URL'),
        onGeneration,
        onError,
        hosts: listenUrl === url ? hosts : createHosts(listenUrl, target),
        name: 'svc-listener',
        channel,
        onPayload,
        onReady,
      }),
    close: async (graceMs = 5_000) => {
      await Promise.all([behind, keys, pool].map(async (one) => await one?.end(graceMs)));
    },
  };
}

const readsOf = (run: Run): Reads => ({ sql: createSql(run), orm: createOrm(run), arrays: arraysOn(run) });

const arraysOn =
  (run: Run): Reads['arrays'] =>
  async (text, values) =>
    (await run({ text, values, isPrepared: true, asArrays: true })) as ReadonlyArray<readonly unknown[]>;

async function transact<T>(
  pool: Pool,
  work: (db: Database) => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T> {
  const after: After = { commit: [], rollback: [] };
  const result = await runTransaction(pool, async (run) => await work(handleOf(run, after))).catch(
    async (error: unknown) => {
      for (const action of after.rollback) await action().catch(onError); // What failed first is told.
      throw error;
    },
  );
  for (const action of after.commit) {
    try {
      action();
    } catch (error) {
      onError(error); // The commit stands; a failed follow-up must not look like a failed call.
    }
  }
  return result;
}

interface After {
  readonly commit: Array<() => void>;
  readonly rollback: Array<() => Promise<void>>;
}

/** Makes the handle of one transaction. */
function handleOf(run: Run, after: After): Database {
  let orm: Orm | undefined;
  const refuse = async (what: string): Promise<never> =>
    await Promise.reject(new Error(`${what} needs the database itself, not a transaction`));
  const handle: Database = {
    sql: createSql(run),
    get orm() {
      return (orm ??= createOrm(run));
    },
    arrays: arraysOn(run),
    get byKey() {
      return handle;
    },
    get behind() {
      return handle;
    },
    inTransaction: true,
    transact: async (work) => await work(handle),
    afterCommit: (action) => void after.commit.push(action),
    afterRollback: (action) => void after.rollback.push(action),
    listen: async () => await refuse('listen'),
    close: async () => await refuse('close'),
  };
  return handle;
}

/**
 * drizzle's builder, which asks its client for nothing but `unsafe`. It overwrites the parsers of a client of
 * the driver, so that dates would come as text for everybody: this one gives it some of its own to overwrite.
 */
function createOrm(run: Run): Orm {
  const unsafe = (text: string, values: readonly unknown[]): unknown => ({
    values: async () => await run({ text, values, isPrepared: true, asArrays: true }),
    then: (...how: Parameters<Promise<unknown>['then']>) =>
      run({ text, values, isPrepared: true }).then(...how),
  });
  return drizzle({ unsafe, options: { parsers: {}, serializers: {} } } as unknown as postgres.Sql);
}
