/**
 * Records that an artifact was seen: by its digest it is the same one, and where it came from is one more
 * source.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { rowId, type Fragment } from '../../base/sql.ts';
import { passportDue } from './passport-due.ts';
import type { artifacts, artifactSources } from './schema.ts';
import { RANKS } from './source-rank.ts';

export type NewArtifact = Pick<
  typeof artifacts.$inferInsert,
  'teamId' | 'digest' | 'kind' | 'name' | 'uri' | 'mediaType' | 'platform'
>;
export type NewSource = Pick<typeof artifactSources.$inferInsert, 'origin' | 'ref'> &
  Partial<Omit<typeof artifactSources.$inferInsert, 'teamId' | 'artifactId' | 'at' | 'origin' | 'ref'>>;

/**
 * An artifact and its source are recorded; `isNew` is true if the artifact was not known before. A source of
 * a better kind than all before it says anew what the artifact is, one of the best kind so far adds what was
 * missing, and one of a lesser kind changes nothing.
 */
export async function recordArtifact(
  db: Database,
  { teamId, digest, kind, name, uri, mediaType, platform }: NewArtifact,
  source: NewSource & { readonly at: Date },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { sql } = db;
  const { at } = source;
  const text = (column: keyof NewSource): string | null => source[column] ?? null;
  const rank = RANKS.indexOf(source.origin);
  const hasAny = (origins: readonly string[]): Fragment =>
    sql`exists (select from artifact_sources s where s.artifact_id = a.id and s.origin = any(${[...origins]}::text[]))`;
  const better = (column: string): Fragment => {
    const [old, given] = [sql`a.${sql(column)}`, sql`excluded.${sql(column)}`];
    return sql`case when ${hasAny(RANKS.slice(0, rank))} then ${old} when ${hasAny([source.origin])} then coalesce(${old}, ${given}) else ${given} end`;
  };
  const [row] = await sql<Array<{ id: string; isNew: boolean }>>`
    with artifact as (
      insert into artifacts as a (id, team_id, digest, kind, name, uri, media_type, platform, created_at)
      values (${newId('art', at.getTime())}, ${teamId}, ${digest}, ${kind}, ${name}, ${uri ?? null}, ${mediaType ?? null}, ${platform ?? null}, ${at})
      on conflict (team_id, digest) do update set kind = ${better('kind')}, name = ${better('name')}, uri = ${better('uri')},
        media_type = ${better('media_type')}, platform = ${better('platform')}
      returning a.id, a.xmax = 0 as "isNew"
    ),
    source as (
      insert into artifact_sources (team_id, artifact_id, origin, ref, project_id, project_name, environment_id, environment_name,
        repository, branch, commit, runner_id, region_id, operator, at)
      select ${teamId}, a.id, ${source.origin}, ${source.ref}, ${text('projectId')}, ${text('projectName')}, ${text('environmentId')},
        ${text('environmentName')}, ${text('repository')}, ${text('branch')}, ${text('commit')}, ${text('runnerId')}, ${text('regionId')},
        ${text('operator')}, ${at}
      from artifact a
      on conflict do nothing
    ),
    told as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${rowId(sql, 'evt')}, ${teamId}, 'artifact.created', a.id,
        jsonb_build_object('artifactId', a.id, 'digest', ${digest}::text, 'kind', ${kind}::text, 'name', ${name}::text), clock_timestamp()
      from artifact a where a."isNew"
    )
    select * from artifact`;
  if (row === undefined) throw new Error(`artifact ${digest} was not recorded`);
  await passportDue(db, { id: row.id, teamId });
  return row;
}
