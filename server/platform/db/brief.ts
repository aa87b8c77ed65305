/**
 * How long a brief statement would wait for its turn on a connection, judged by those before it. What a brief statement is, and why it may wait at all,
 * stands in client.ts.
 */

/** A statement that takes longer than this is not brief, or waits for a lock. */
const STUCK_MS = 10;
/** Before one was timed: more than anybody would wait for. */
const FIRST_GUESS_MS = 10;
/** Weight of the newest time against those before it. A long one counts little: most of those are waits for this process, not for the database. */
const SHORTER_SHARE = 1 / 8;
const LONGER_SHARE = 1 / 128;

export interface BriefTimes {
  /** Behind `load` statements; Infinity when that cannot be told. */
  waitMs(load: number): number;
  /** A statement is given to the connection; returns what is to be called when it has settled. */
  given(isBrief: boolean, isAlone: boolean): () => void;
}

export function createBriefTimes(): BriefTimes {
  /** Statements under way that are not brief. */
  let others = 0;
  /** When the statement that now runs came to its turn, as far as can be seen from here. */
  let turnAtMs = 0;
  /** How long a brief statement has its turn. */
  let typicalMs = FIRST_GUESS_MS;
  return {
    waitMs: (load) => {
      if (load === 0) return 0;
      if (others > 0 || performance.now() - turnAtMs > STUCK_MS) return Number.POSITIVE_INFINITY;
      return load * typicalMs;
    },
    given: (isBrief, isAlone) => {
      if (isAlone) turnAtMs = performance.now();
      if (!isBrief) others += 1;
      return () => {
        const nowMs = performance.now();
        const longerMs = nowMs - turnAtMs - typicalMs;
        if (isBrief) typicalMs += longerMs * (longerMs > 0 ? LONGER_SHARE : SHORTER_SHARE);
        else others -= 1;
        turnAtMs = nowMs;
      };
    },
  };
}
