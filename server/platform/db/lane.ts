/**
 * One connection of the pool: a client of postgres.js that has one connection at a time, and the statements given to it. What holds here:
 *
 * - `max_pipeline: 1e9`: with the default, a BEGIN that is the 101st query in flight does not reserve its connection, and what
 *   follows on it is acknowledged and lost.
 * - No reconnecting. A connection of the driver that was lost and is used again begins with bytes left over from its past life
 *   (then it hangs until the connect timeout) and hears statements of transactions that are dead. So a client that has lost its
 *   connection is retired: what it has not sent yet is refused, new statements go to a fresh client. `pending` knows the
 *   statements of each client, because the driver forgets those in its queue when it ends. The loss is heard from the socket itself
 *   (dial.ts), before the driver hears of it.
 * - No type query on new connections, see arrays.ts.
 *
 * The owner of `current` is the closure of createLane. loss.test.ts and outage.test.ts hold all of this.
 */
import postgres from 'postgres';
import { ARRAY_TYPES } from './arrays.ts';
import { createBriefTimes } from './brief.ts';
import { createDial } from './dial.ts';
import { createPending } from './pending.ts';
import type { Pending } from './pending.ts';
import { createMaker } from './statement.ts';
import type { Handler, Statement } from './statement.ts';

export interface LaneOptions {
  readonly url: string;
  readonly statementTimeoutMs: number;
  readonly name: string;
  /** Taken at once, before the first statement; see role.ts. */
  readonly role?: string | undefined;
}

export interface Lane {
  /** Statements that it was given and that have not settled. */
  readonly load: number;
  /** A transaction has the connection; a statement given to it now would wait for the end. */
  readonly inTransaction: boolean;
  /** Should be left alone until its load is zero: see RUN_MAX. */
  readonly tired: boolean;
  /** How long a brief statement given to it now would wait for those before it, milliseconds; Infinity when that cannot be told. */
  readonly briefWaitMs: number;
  run(statement: Statement): unknown;
  begin<T>(work: (handle: postgres.TransactionSql) => Promise<T>): Promise<T>;
  end(graceMs: number): Promise<void>;
}

const CONNECT_TIMEOUT_S = 5;
const IDLE_IN_TRANSACTION_MS = 10_000;
const LOCK_TIMEOUT_MS = 2_000;
/** What a retired client gets to finish: a statement's limit and a transaction's pause. */
const RETIRE_GRACE_S = 10;

/**
 * Every statement here is written for an index. The planner sees a table that is nearly empty, finds reading all of it as cheap, and the prepared
 * statement keeps that plan while the table grows, until something analyses the table: in a storm of webhooks in the first minutes of a database, the
 * statement that ends them took twenty times as long. A plan without an index costs so much on paper now that it would be compiled each time.
 */
const PLANNING = { enable_seqscan: 'off', jit: 'off' };

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

/**
 * Statements without a moment of rest. The driver keeps a slot for every statement that it has had in flight until none is, so an
 * endless stream without a gap would grow its memory without end.
 */
const RUN_MAX = 10_000;

/** One client of the driver and the statements that it has been given. */
interface Generation {
  readonly sql: postgres.Sql;
  readonly pending: Pending;
  /** Gives a statement, made by whichever client, to this one. */
  readonly handler: Handler;
}

export function createLane(options: LaneOptions): Lane {
  let current: Generation | undefined;
  let ended = false;
  let transactions = 0;
  let sinceRest = 0;
  const briefTimes = createBriefTimes();
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
    const { handler } = sql`` as unknown as Statement;
    // `begin` sends its BEGIN through this property.
    const { unsafe } = createMaker(sql, (statement) => pending.add(statement) && handler(statement));
    sql.unsafe = unsafe;
    const generation: Generation = { sql, pending, handler };
    return generation;
  };

  /** After `end` the last one stays: it refuses with CONNECTION_ENDED. */
  const use = (): Generation => (current ??= open());

  return {
    get load() {
      return current?.pending.size() ?? 0;
    },
    get inTransaction() {
      return transactions > 0;
    },
    get tired() {
      return sinceRest >= RUN_MAX;
    },
    get briefWaitMs() {
      const load = current?.pending.size() ?? 0;
      const isClosed = transactions > 0 || (load > 0 && sinceRest >= RUN_MAX);
      return isClosed ? Number.POSITIVE_INFINITY : briefTimes.waitMs(load);
    },
    run(statement) {
      const { pending, handler } = use();
      const isAlone = pending.size() === 0;
      sinceRest = isAlone ? 1 : sinceRest + 1;
      const onSettled = briefTimes.given(statement.options.brief === true, isAlone);
      return pending.add(statement, onSettled) && handler(statement);
    },
    async begin(work) {
      transactions += 1;
      try {
        return (await use().sql.begin(async (handle) => ({ value: await work(handle) }))).value;
      } finally {
        transactions -= 1;
      }
    },
    async end(graceMs) {
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

async function withinMs(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

export function connect(
  { url, statementTimeoutMs, name, role }: LaneOptions,
  onLost: () => void,
): postgres.Sql {
  const sql = postgres(url, {
    max: 1,
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
      ...PLANNING,
      ...(role === undefined ? {} : { role }),
    },
    onnotice: () => undefined, // "relation already exists, skipping" and the like: nothing to act on
    types: { ...SCALAR_TYPES, ...ARRAY_TYPES },
    // The driver's types want one type for all custom values.
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>) as unknown as postgres.Sql;
  // They are known by now. For each transaction the driver would make a helper of each, which nothing uses.
  sql.options.types = {};
  return sql;
}
