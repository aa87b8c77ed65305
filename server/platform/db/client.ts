/**
 * The pool: lanes of one connection each, and a client of postgres.js that only makes statements. The driver's own pool is not used,
 * because its cost grows with history: its list of idle connections keeps a slot for every statement ever run until, by chance, no
 * connection is idle, and it is searched from its beginning at each statement (60 µs each after 100,000 statements). pool.test.ts
 * shows it. A statement goes to the lane with the least to do when it is executed, not when it is made.
 */
import type postgres from 'postgres';
import { connect, createLane } from './lane.ts';
import type { Lane, LaneOptions } from './lane.ts';
import { isQuery } from './pending.ts';

/** The tagged template. Dates, bytes, arrays and `sql.json(…)` go in and come out as themselves; bigint comes out as number where that is exact. */
export type SqlTag = postgres.ISql;

export interface Client {
  readonly sql: SqlTag;
  begin<T>(work: (handle: postgres.TransactionSql) => Promise<T>): Promise<T>;
  end(graceMs: number): Promise<void>;
}

export interface ClientOptions extends LaneOptions {
  /** Connections. */
  readonly max: number;
}

export function createClient({ max, ...options }: ClientOptions): Client {
  const lanes = Array.from({ length: max }, () => createLane(options));
  return {
    sql: createMaker(options, () => leastLoaded(lanes)),
    begin: async (work) => await leastLoaded(lanes).begin(work),
    end: async (graceMs) => {
      await Promise.all(lanes.map(async (lane) => await lane.end(graceMs)));
    },
  };
}

/** The first idle one, so that no more connections are opened than are needed; else the one with the fewest statements. */
function leastLoaded(lanes: readonly Lane[]): Lane {
  let best: Lane | undefined;
  let bestLoad = Number.POSITIVE_INFINITY;
  let resting: Lane | undefined;
  for (const lane of lanes) {
    if (lane.inTransaction) continue;
    const { load } = lane;
    if (load === 0) return lane;
    if (lane.tired) resting ??= lane;
    else if (load < bestLoad) {
      best = lane;
      bestLoad = load;
    }
  }
  // Where every lane is in a transaction there is but one, and the statement waits for its end.
  const chosen = best ?? resting ?? lanes[0];
  if (chosen === undefined) throw new Error('a pool has at least one connection');
  return chosen;
}

/** Makes statements with a client that never connects, and sends each to the lane of the moment. */
function createMaker(options: LaneOptions, lane: () => Lane): SqlTag {
  const driver = connect(options, () => undefined);
  const direct = <T>(made: T): T => {
    if (isQuery(made)) made.handler = (query) => lane().run(query);
    return made;
  };
  type Call = (...args: unknown[]) => unknown;
  const tag: Call = (...args) => direct((driver as unknown as Call)(...args));
  // `file` and `notify` would send by the driver itself; nothing here uses them.
  const { array, json, typed, types, unsafe } = driver;
  return Object.assign(tag, {
    array,
    json,
    typed,
    types,
    unsafe: ((...args) => direct(unsafe(...args))) as typeof unsafe,
  }) as unknown as SqlTag;
}
