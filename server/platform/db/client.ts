/**
 * postgres.js, kept away from the parts of it that lose data or time. What holds here:
 *
 * - `max_pipeline: 1e9`: with the default, a BEGIN that is the 101st query in flight does not reserve its connection, and what
 *   follows on it is acknowledged and lost.
 * - No reconnecting. A connection of the driver that was lost and is used again begins with bytes left over from its past life
 *   (then it hangs until the connect timeout) and hears statements of transactions that are dead. So a client that has lost one
 *   connection is retired: its healthy connections finish what they have, what it has not sent yet is refused, new statements go
 *   to a fresh client. `pending` knows the statements of each client, because the driver forgets those in its queue when it ends.
 *   The loss is heard from the socket itself (dial.ts), before the driver hears of it.
 * - No type query on new connections, see arrays.ts.
 *
 * The owner of `current` is the closure of createClient. loss.test.ts and outage.test.ts hold all of this.
 */
import postgres from 'postgres';
import { ARRAY_TYPES } from './arrays.ts';
import { createDial } from './dial.ts';

/** The tagged template. Dates, bytes, arrays and `sql.json(…)` go in and come out as themselves; bigint comes out as number where that is exact. */
export type SqlTag = postgres.ISql;

export interface Client {
  readonly sql: SqlTag;
  begin<T>(work: (handle: postgres.TransactionSql) => Promise<T>): Promise<T>;
  end(graceMs: number): Promise<void>;
}

export interface ClientOptions {
  readonly url: string;
  readonly max: number;
  readonly statementTimeoutMs: number;
  readonly name: string;
}

const CONNECT_TIMEOUT_S = 5;
const IDLE_IN_TRANSACTION_MS = 10_000;
const LOCK_TIMEOUT_MS = 2_000;
/** What a retired client's healthy connections get to finish: a statement's limit and a transaction's pause. */
const RETIRE_GRACE_S = 10;

const SCALAR_TYPES = {
  bigint: {
    to: 20,
    from: [20],
    serialize: String,
    parse: (text: string): number | bigint => {
      const number = Number(text);
      return Number.isSafeInteger(number) ? number : BigInt(text);
    },
  },
  // drizzle hands over JSON text, `sql.json` a value: the text must not be encoded a second time.
  json: {
    to: 114,
    from: [114, 3802],
    serialize: (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value)),
    parse: (text: string): unknown => JSON.parse(text),
  },
};

/** One client of the driver and the statements that it has been given. */
interface Generation {
  readonly sql: postgres.Sql;
  readonly pending: Pending;
}

export function createClient(options: ClientOptions): Client {
  let current: Generation | undefined;
  let ended = false;
  const retired = new Set<Promise<void>>();

  const retire = (generation: Generation): void => {
    if (generation !== current || ended) return;
    current = undefined;
    const { sql, pending } = generation;
    pending.close();
    const gone: Promise<void> = sql.end({ timeout: RETIRE_GRACE_S }).finally(() => {
      retired.delete(gone);
      pending.refuseAll();
    });
    retired.add(gone);
  };

  const open = (): Generation => {
    const sql = connect(options, () => retire(generation));
    const pending = createPending();
    // `begin` sends its BEGIN through this property too.
    const { unsafe } = sql;
    sql.unsafe = ((...args: Parameters<typeof unsafe>) => pending.track(unsafe(...args))) as typeof unsafe;
    const generation: Generation = { sql, pending };
    return generation;
  };

  /** After `end` the last one stays: it refuses with CONNECTION_ENDED. */
  const use = (): Generation => (current ??= open());

  return {
    sql: facade(use),
    begin: async (work) => (await use().sql.begin(async (handle) => ({ value: await work(handle) }))).value,
    end: async (graceMs) => {
      ended = true;
      const last = use();
      const all = [
        ...retired,
        last.sql.end({ timeout: graceMs / 1_000 }).finally(() => last.pending.refuseAll()),
      ];
      await Promise.all(all.map(async (each) => await withinMs(each, graceMs + 1_000)));
    },
  };
}

/** What of a driver's query decides where it runs and how it ends. `state` is null until it was sent. */
interface Query {
  handler: ((query: Query) => unknown) & { debug?: unknown };
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  readonly state: unknown;
  cancelled: unknown;
}

interface Pending {
  /** Statements are watched from their execution on; fragments, names and values pass through. */
  track<T>(made: T): T;
  /** Refuses what was not sent yet, and what comes later: a statement made just before may be executed just after. */
  close(): void;
  /** When the client has ended: what it still holds, it has forgotten. */
  refuseAll(): void;
}

function createPending(): Pending {
  const queries = new Set<Query>();
  let closed = false;
  const refuse = (query: Query): void => {
    query.cancelled = true; // should the driver still come to it, it leaves it out
    query.reject(
      Object.assign(new Error('the connection was lost before the statement was sent'), {
        code: 'CONNECTION_CLOSED',
      }),
    );
  };
  const watch = (query: Query): void => {
    const { handler, resolve, reject } = query;
    const run: Query['handler'] = (self) => {
      if (closed) return refuse(self);
      queries.add(self);
      return handler(self);
    };
    run.debug = handler.debug;
    query.handler = run;
    query.resolve = (value) => {
      queries.delete(query);
      resolve(value);
    };
    query.reject = (error) => {
      queries.delete(query);
      reject(error);
    };
  };
  return {
    track: (made) => {
      if (made instanceof Promise && 'handler' in made) watch(made as unknown as Query);
      return made;
    },
    close: () => {
      closed = true;
      for (const query of queries) if (query.state === null) refuse(query);
    },
    refuseAll: () => {
      for (const query of queries) refuse(query);
    },
  };
}

async function withinMs(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

function connect({ url, max, statementTimeoutMs, name }: ClientOptions, onLost: () => void): postgres.Sql {
  return postgres(url, {
    max,
    max_pipeline: 1e9,
    max_lifetime: null,
    fetch_types: false,
    connect_timeout: CONNECT_TIMEOUT_S,
    backoff: () => 0,
    socket: createDial(onLost),
    connection: {
      application_name: name,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      lock_timeout: LOCK_TIMEOUT_MS,
    },
    onnotice: () => undefined, // "relation already exists, skipping" and the like: nothing to act on
    types: { ...SCALAR_TYPES, ...ARRAY_TYPES },
    // The driver's types want one type for all custom values.
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>) as unknown as postgres.Sql;
}

/** Looks like one client and asks for the current one at each use. */
function facade(use: () => Generation): SqlTag {
  type Call = (...args: unknown[]) => unknown;
  const through =
    (name: 'array' | 'file' | 'json' | 'notify' | 'typed' | 'types' | 'unsafe'): Call =>
    (...args) =>
      (use().sql[name] as Call)(...args);
  const tag: Call = (...args) => {
    const { sql, pending } = use();
    return pending.track((sql as unknown as Call)(...args));
  };
  return Object.assign(tag, {
    array: through('array'),
    file: through('file'),
    json: through('json'),
    notify: through('notify'),
    typed: through('typed'),
    types: through('types'),
    unsafe: through('unsafe'),
  }) as unknown as SqlTag;
}
