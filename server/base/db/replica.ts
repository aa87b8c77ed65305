/**
 * Reads that owe nobody their own write go to a replica as long as it is close behind: whatever the primary
 * had written 5 s ago must be there. How far it is is found by comparing positions in the WAL, since a
 * replica that is cut off does not know how late it is. A read that the replica does not answer goes to the
 * primary. `reachedAt` is owned by this closure.
 */
import { startLoop } from '../loop.ts';
import { isConnectionError, isRecoveryConflict, onceWhileWrong } from './errors.ts';
import { differs, PLACE, wordsOf, type Place } from './place.ts';
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

interface Position extends Place {
  readonly position: number;
}

const position = (lsn: string): Query => ({
  text: `select pg_wal_lsn_diff(${lsn}, '0/0')::float8 as position, ${PLACE}`,
});
const WRITTEN = position('pg_current_wal_lsn()');
/** One that was promoted has all that it has. */
const REPLAYED = position(
  'case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end',
);

interface Following {
  readonly primary: Run;
  /** The replica is one of another database. Told once while it is so. */
  readonly onError: (error: unknown) => void;
}

export function followReplica(replica: Pick<Pool, 'run' | 'end'>, { primary, onError }: Following): Replica {
  /** Time at which the primary was last where the replica is now, at least. */
  let reachedAt = Number.NEGATIVE_INFINITY;
  let samples: readonly Sample[] = [];
  const tellWrong = onceWhileWrong(onError);
  const ask = async (run: Run, query: Query): Promise<Position> => {
    const [row] = (await run(query)) as readonly Position[];
    if (row === undefined) throw new Error('the database does not say where it is');
    return row;
  };
  const look = async (): Promise<void> => {
    const at = performance.now();
    const own = await ask(primary, WRITTEN);
    samples = [...samples.filter((sample) => at - sample.at <= LAG_MAX_MS), { at, position: own.position }];
    const there = await ask(replica.run, REPLAYED);
    if (differs(own, there)) {
      reachedAt = Number.NEGATIVE_INFINITY;
      throw elsewhere(own, there);
    }
    tellWrong(undefined);
    reachedAt = samples.findLast((sample) => sample.position <= there.position)?.at ?? reachedAt;
  };
  const loop = startLoop({
    everyMs: LOOK_EVERY_MS,
    run: look,
    // Whoever reads is served by the primary meanwhile.
    onError: tellWrong,
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

function elsewhere(own: Place, there: Place): Error {
  return Object.assign(
    new Error(
      `REPLICA_URL leads to another database (${wordsOf(there)}, not ${wordsOf(own)}): it is not read from`,
    ),
    { code: 'WRONG_DATABASE' },
  );
}
