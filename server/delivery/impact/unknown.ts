/**
 * Counts what no search for a package finds: artifacts without a list, and with one that does not tell all.
 */
import type { Who } from '../../kit/resource/index.ts';
import type { ImpactUnknown } from '../artifacts/index.ts';
import { placesOf, runsThere, whatRuns } from '../promotions/index.ts';

/** Each counted to `max`. */
export async function unknownIn(
  { db: { sql }, teams }: Who,
  teamId: string,
  max: number,
): Promise<ImpactUnknown> {
  teams.require(teamId);
  const hasNoList = sql`not exists (select from artifact_sboms l where l.artifact_id = a.id)`;
  const [counts] = await sql<ImpactUnknown[]>`
    select
      (
        select count(*)::int from (
          select from (${whatRuns(sql, teamId, placesOf(sql, teamId))}) n where exists (
            select from (${runsThere(sql, teamId)}) a
            where ${hasNoList} or exists (select from artifact_sboms l where l.team_id = ${teamId} and l.artifact_id = a.id and l.unread <> '{}')
          ) limit ${max}::int
        ) e
      ) as environments,
      (
        select count(*)::int from (
          -- Beside a list that was removed there may be others.
          select from artifacts a where a.team_id = ${teamId} and a.package_set_id is null and ${hasNoList} limit ${max}::int
        ) a
      ) as "withoutList",
      (
        select count(*)::int from (
          select distinct l.artifact_id from artifact_sboms l where l.team_id = ${teamId} and l.unread <> '{}' limit ${max}::int
        ) l
      ) as "partlyRead"`;
  return counts ?? { environments: 0, withoutList: 0, partlyRead: 0 };
}
