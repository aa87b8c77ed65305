/**
 * Reads that owe nobody their own write go to a replica as long as it is close behind: whatever the primary had written 5 s ago must be there. How far it is is found by comparing positions in the WAL,
 * since a replica that is cut off does not know how late it is. A read that the replica does not answer goes to the primary. `reachedAt` is owned by this closure.
 */
import { startLoop } from '../loop.ts';
import { isConnectionError, isRecoveryConflict } from './errors.ts';
import type { Pool } from './pool.ts';
import type { Query, Run } from './statement.ts';

export type Replica = Pick<Pool, 'run' | 'end'>;

const LAG_MAX_MS = 5_000;
const LOOK_EVERY_MS = 1_000;

interface Sample {
  readonly at: number;
  /** Bytes of WAL from the beginning. */
  readonly position: number;
}

const position = (lsn: string): Query => ({
  text: `select pg_wal_lsn_diff(${lsn}, '0/0')::float8 as position`,
});
const WRITTEN = position('pg_current_wal_lsn()');
/** One that was promoted has all that it has. */
const REPLAYED = position(
  'case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end',
);

export function followReplica(replica: Pick<Pool, 'run' | 'end'>, primary: Run): Replica {
  /** When the primary was last where the replica is now, at least. */
  let reachedAt = Number.NEGATIVE_INFINITY;
  let samples: readonly Sample[] = [];
  const ask = async (run: Run, query: Query): Promise<number> => {
    const [row] = (await run(query)) as ReadonlyArray<{ position: number }>;
    return row?.position ?? 0;
  };
  const look = async (): Promise<void> => {
    const at = performance.now();
    const own = { at, position: await ask(primary, WRITTEN) };
    samples = [...samples.filter((sample) => at - sample.at <= LAG_MAX_MS), own];
    const there = await ask(replica.run, REPLAYED);
    reachedAt = samples.findLast((sample) => sample.position <= there)?.at ?? reachedAt;
  };
  const loop = startLoop({
    everyMs: LOOK_EVERY_MS,
    run: look,
    // Whoever reads is served by the primary meanwhile.
    onError: () => undefined,
  });
  return {
    run: async (query) => {
      if (performance.now() - reachedAt > LAG_MAX_MS) return await primary(query);
      try {
        return await replica.run(query);
      } catch (error) {
        if (!isConnectionError(error) && !isRecoveryConflict(error)) throw error;
        if (isConnectionError(error)) reachedAt = Number.NEGATIVE_INFINITY;
        return await primary(query);
      }
    },
    end: async (graceMs) => {
      await loop.stop();
      await replica.end(graceMs);
    },
  };
}
