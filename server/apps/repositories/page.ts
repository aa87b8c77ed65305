/**
 * This reads one page of a team's repositories. Rows of one team are read in the order of the index until the
 * page is full; for a text that few of them hold, all rows of the team are looked at, and of no other.
 */
import type { Database } from '../../base/db/index.ts';
import type { ForgeId } from '../../connect/providers/index.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';

const PER_PAGE = 50;

export interface Listed {
  readonly teamId: string;
  /** Part of the key, in any case; empty: all. */
  readonly q: string;
  /** Number of the page, from 1. */
  readonly page: number;
  /** Keys of the repositories that are there in any case. */
  readonly known: readonly string[];
}

/** Everything that hosts say is null where no token has seen the repository. */
export interface ListedRow {
  readonly id: string;
  readonly host: string | null;
  readonly path: string | null;
  readonly forge: ForgeId | null;
  readonly defaultBranch: string | null;
  readonly private: boolean | null;
  readonly archived: boolean | null;
  readonly pushedAt: Date | null;
}

export async function readPage(
  { sql }: Database,
  scope: TeamScope,
  { teamId, q, page, known }: Listed,
): Promise<{ readonly rows: readonly ListedRow[]; readonly hasNext: boolean }> {
  const team = requireTeam(scope, teamId);
  // Keys are in lower case.
  const part = q.toLowerCase();
  const keys = known.filter((key) => key.includes(part));
  const skip = (page - 1) * PER_PAGE;
  const take = PER_PAGE + 1;
  const rows = await sql<readonly ListedRow[]>`
    with seen as (
      select distinct f.key collate "C" as key from forge_repositories f
      where f.team_id = ${team} and strpos(f.key, ${part}) > 0 order by key limit ${skip + take}::int
    ), listed as (
      select key from (select key from seen union select k collate "C" from unnest(${keys}::text[]) as k) u (key)
      order by key limit ${take}::int offset ${skip}::int
    )
    select l.key as id, s.host, s.path, s.forge, s.default_branch as "defaultBranch", s.private, s.archived, s.pushed_at as "pushedAt"
    from listed l left join lateral (
      select * from forge_repositories f where f.team_id = ${team} and f.key collate "C" = l.key order by f.seen_at desc, f.source limit 1
    ) s on true
    order by l.key`;
  return { rows: rows.slice(0, PER_PAGE), hasNext: rows.length > PER_PAGE };
}
