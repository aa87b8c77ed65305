/**
 * Gates of one team are judged one after the other, so that of those that wait for the judging thread each is of another team: a policy that takes all of its time costs other teams one such
 * time, however often it is asked.
 */
import { apiError } from '@svc/proto/http/errors.ts';

/** Of one team, the one that is judged among them: each may hold a connection to the database, of which there are 10 by default. */
const AT_ONCE_MAX = 5;

export type TeamTurns = <T>(teamId: string, work: () => Promise<T>) => Promise<T>;

interface Line {
  count: number;
  end: Promise<unknown>;
}

/** Throws `unavailable` (503) when as many of the team wait as may. */
export function createTeamTurns(atOnceMax = AT_ONCE_MAX): TeamTurns {
  const lines = new Map<string, Line>();
  return async (teamId, work) => {
    const line = lines.get(teamId) ?? { count: 0, end: Promise.resolve() };
    if (line.count >= atOnceMax)
      throw apiError(
        'unavailable',
        `the policies of the team are judged for ${line.count} acts at once, which is the limit; try again`,
        { retryAfterMs: 1_000 },
      );
    lines.set(teamId, line);
    line.count += 1;
    const done = line.end.then(work);
    line.end = done.catch(() => undefined); // told to its own caller
    try {
      return await done;
    } finally {
      line.count -= 1;
      if (line.count === 0) lines.delete(teamId);
    }
  };
}
