/** Recomputation of what a team's costs are made of. */
import { VerifyResponseSchema, type VerifyRequest } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { tooMany } from '../../base/rate-limit.ts';
import { shown } from '../../kit/resource/index.ts';
import { CHECKS, countsOf, type Counts, type Difference, type Looked } from './differences.ts';
import { restated, STATEMENT_CHECKS } from './statement-differences.ts';

const SHOWN_MAX = 100;
/** Each holds a connection while the database reads all that a team ever used. */
const AT_WORK_MAX = 2;
const RETRY_MS = 10_000;
/** Longest time of one SQL statement; the call itself has two minutes. */
const STATEMENT_MS = 100_000;

export interface Verified extends Counts {
  readonly differences: readonly Difference[];
}

/**
 * This returns the differences of one team, or of all. Each check is one statement, and sees one moment: work
 * that goes on meanwhile differs in none of them.
 */
export async function differencesOf(db: Database, looked: Looked): Promise<Verified> {
  return await db.transact(async ({ sql }) => {
    await sql.unsafe(`set local statement_timeout = ${STATEMENT_MS}`);
    const counts = await countsOf(sql, looked);
    const found: Difference[] = [];
    for (const check of [...CHECKS, ...STATEMENT_CHECKS, restated]) {
      found.push(...(await check(sql, looked)));
      if (found.length >= looked.limit) break;
    }
    return { ...counts, differences: found.slice(0, looked.limit) };
  });
}

/** Whoever asks about a team while that is looked at shares the answer. */
export function createVerify(currency: string) {
  const running = new Map<string, Promise<Verified>>();
  const begin = (db: Database, teamId: string): Promise<Verified> => {
    if (running.size >= AT_WORK_MAX)
      throw tooMany(`${running.size} verifications are at work already`, RETRY_MS);
    const work = differencesOf(db, { teamId, limit: SHOWN_MAX, currency }).finally(() =>
      running.delete(teamId),
    );
    running.set(teamId, work);
    return work;
  };
  return async ({ teamId }: VerifyRequest, { db, teams }: Ctx) => {
    teams.require(teamId);
    const { differences, ...counts } = await (running.get(teamId) ?? begin(db, teamId));
    return shown(VerifyResponseSchema, { ...counts, intact: differences.length === 0, differences });
  };
}
