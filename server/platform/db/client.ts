/**
 * The pool: lanes of one connection each, and a client of postgres.js that only makes statements. The driver's own pool is not used,
 * because its cost grows with history: its list of idle connections keeps a slot for every statement ever run until, by chance, no
 * connection is idle, and it is searched from its beginning at each statement (60 µs each after 100,000 statements). pool.test.ts
 * shows it. A statement goes to the lane with the least to do when it is executed, not when it is made.
 *
 * A brief one (`{ brief: true }` in the options of `unsafe`, see work/prepared.ts) goes to the first lane where it would not wait long behind other brief
 * ones: each connection is a process at the database with caches of its own, and few that are warm take a fifth less processor time than ten
 * that are not. On a disk whose commits take longer than such a wait they spread like all others.
 */
import type postgres from 'postgres';
import { connect, createLane } from './lane.ts';
import type { Lane, LaneOptions } from './lane.ts';
import { createMaker } from './statement.ts';
import type { SqlTag } from './statement.ts';

export type { SqlTag } from './statement.ts';

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
  // Helps with values only: it never connects.
  const driver = connect(options, () => undefined);
  return {
    sql: createMaker(driver, (statement) =>
      (statement.options.brief === true ? firstReady(lanes) : leastLoaded(lanes)).run(statement),
    ),
    begin: async (work) => await leastLoaded(lanes).begin(work),
    end: async (graceMs) => {
      await Promise.all(lanes.map(async (lane) => await lane.end(graceMs)));
    },
  };
}

/** How long a brief statement may wait for others on a connection while another one is idle. */
const BRIEF_WAIT_MS = 5;

function firstReady(lanes: readonly Lane[]): Lane {
  return lanes.find(({ briefWaitMs }) => briefWaitMs <= BRIEF_WAIT_MS) ?? leastLoaded(lanes);
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
