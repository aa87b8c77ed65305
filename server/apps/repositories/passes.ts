/** A pass over the repositories of a token is stored at once, and takes the place of the one before. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../base/db/index.ts';
import { repositoryName, type ForgeId, type SeenRepository } from '../../connect/providers/index.ts';

export interface Pass {
  readonly teamId: string;
  readonly source: string;
  readonly host: string;
  readonly forge: ForgeId;
  /** Time at which it began. */
  readonly seenAt: Date;
  readonly repositories: readonly SeenRepository[];
  /** Says why it did not see everything; null: it did. */
  readonly problem: string | null;
}

/** Rows of one statement. */
const BATCH = 1_000;
/** Characters; the keys are in an index. */
const PATH_MAX = 500;

/** Stores nothing when the source is gone. */
export async function storePass(database: Database, pass: Pass): Promise<void> {
  const { teamId, source, seenAt, problem } = pass;
  const rows = rowsOf(pass);
  await database.transact(async ({ sql }) => {
    // Locked, so that it does not go while its rows come.
    const there = await sql`
      select from repository_sources where team_id = ${teamId} and source = ${source} for no key update`;
    if (there.length === 0) return;
    for (let at = 0; at < rows.length; at += BATCH) await storeRows(sql, pass, rows.slice(at, at + BATCH));
    if (problem === null)
      await sql`
        delete from forge_repositories where team_id = ${teamId} and source = ${source} and seen_at <> ${seenAt}`;
    await sql`
      update repository_sources set problem = ${problem}, listed_at = case when ${problem === null} then ${seenAt} else listed_at end
      where team_id = ${teamId} and source = ${source}`;
  });
}

/** Names what could not be read; what was seen before stays. */
export async function noteProblem(
  { sql }: Database,
  { teamId, source, problem }: Pick<Pass, 'teamId' | 'source' | 'problem'>,
): Promise<void> {
  await sql`update repository_sources set problem = ${problem} where team_id = ${teamId} and source = ${source}`;
}

type Row = ReturnType<typeof rowsOf>[number];

/** A repository may be on two pages when others came while they were read. */
function rowsOf({ host, repositories }: Pass) {
  const rows = repositories.flatMap(({ path, defaultBranch, isPrivate, isArchived, pushedAt }) => {
    const name = path.length > PATH_MAX ? undefined : repositoryName(host, path);
    if (name === undefined) return [];
    const row = {
      key: name.key,
      host: name.host,
      path: name.path,
      defaultBranch: defaultBranch ?? null,
      private: isPrivate ?? null,
      archived: isArchived ?? null,
      pushedAt: pushedAt ?? null,
    };
    return [[name.key, row] as const];
  });
  return [...new Map(rows).values()];
}

async function storeRows(sql: SqlTag, { teamId, source, forge, seenAt }: Pass, rows: readonly Row[]) {
  await sql`
    insert into forge_repositories (team_id, source, key, host, path, forge, default_branch, private, archived, pushed_at, seen_at)
    select ${teamId}, ${source}, r.key, r.host, r.path, ${forge}, r."defaultBranch", r.private, r.archived, r."pushedAt", ${seenAt}
    from json_to_recordset(${sql.json(rows)}::json)
      as r (key text, host text, path text, "defaultBranch" text, private boolean, archived boolean, "pushedAt" timestamptz)
    on conflict (team_id, source, key) do update set host = excluded.host, path = excluded.path, forge = excluded.forge,
      default_branch = excluded.default_branch, private = excluded.private, archived = excluded.archived,
      pushed_at = excluded.pushed_at, seen_at = excluded.seen_at`;
}
