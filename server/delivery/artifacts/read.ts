/** Reads of one artifact, by its id or its digest: each is one statement by hand. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { JsonObject } from '@bufbuild/protobuf';
import { ArtifactPassportSchema, ArtifactSchema } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { shown, type RowOf, type Who } from '../../kit/resource/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { bundleJson } from '../attestations/index.ts';
import { AFTER_MS } from './passport-due.ts';
import { setDifferences, type SetDifference } from './sbom/compare.ts';
import type { artifactPassports, artifacts, artifactSboms, artifactSources } from './schema.ts';
import { rankOf } from './source-rank.ts';

const SOURCES_SHOWN_MAX = 100;

/** Without what is there for servers that are being replaced. */
export type Artifact = Omit<RowOf<typeof artifacts>, 'packageSetId' | 'sbomSha256' | 'sbomUnread'>;
type Source = Omit<typeof artifactSources.$inferSelect, 'teamId' | 'artifactId' | 'operator'>;
type Passport = typeof artifactPassports.$inferSelect;

/** As JSON has it. */
interface List extends Pick<typeof artifactSboms.$inferSelect, 'source' | 'by' | 'sha256' | 'unread'> {
  readonly packages: number;
  readonly at: string;
  readonly setId: number;
}

/** One for each source. */
type Row = Artifact & { readonly lists: readonly List[] } & (
    | Source
    | { readonly [Column in keyof Source]: null }
  );

/** Returns the condition that the artifact `a` has this id or digest, within the teams of the call. */
function isNamed(sql: SqlTag, teams: TeamScope, idOrDigest: string): Fragment {
  const name = idOrDigest.startsWith('sha256:') ? sql`a.digest` : sql`a.id`;
  return sql`a.team_id = any(${teams.teamIds}::text[]) and ${name} = ${idOrDigest}`;
}

export async function findArtifact({ db: { sql }, teams }: Who, idOrDigest: string): Promise<Artifact> {
  const [row] = await sql<Artifact[]>`
    select a.id, a.team_id as "teamId", a.digest, a.kind, a.name, a.uri, a.media_type as "mediaType", a.platform, a.sbom_problem as "sbomProblem",
      a.created_at as "createdAt"
    from artifacts a where ${isNamed(sql, teams, idOrDigest)}`;
  if (row === undefined) throw notFound('artifact');
  teams.require(row.teamId);
  return row;
}

/** Shows artifacts with their sources, in the order in which they come. */
export async function presentListed(
  { db: { sql }, teams }: Who,
  teamId: string,
  listed: ReadonlyArray<Omit<Artifact, 'sbomProblem'>>,
) {
  const ids = listed.map(({ id }) => id);
  const found = await sql<Array<Source & { artifactId: string }>>`
    select a.id as "artifactId", ${sourceColumns(sql)}
    from unnest(${ids}::text[]) a (id) cross join lateral (
      select * from artifact_sources x where x.team_id = ${teamId} and x.team_id = any(${teams.teamIds}::text[]) and x.artifact_id = a.id
      order by ${rankOf(sql)}, x.at, x.ref limit ${SOURCES_SHOWN_MAX}::int
    ) s order by s.at, s.ref`;
  const sources = new Map(ids.map((id): [string, Source[]] => [id, []]));
  for (const { artifactId, ...source } of found) sources.get(artifactId)?.push(source);
  return listed.map((row) => shown(ArtifactSchema, row, { sources: sources.get(row.id) ?? [] }));
}

/** Selects the columns of the source `s`. */
const sourceColumns = (sql: SqlTag): Fragment => sql`
  s.origin, s.ref, s.project_id as "projectId", s.project_name as "projectName", s.environment_id as "environmentId",
  s.environment_name as "environmentName", s.repository, s.branch, s.commit, s.runner_id as "runnerId", s.region_id as "regionId", s.at`;

export async function presentArtifact({ db: { sql }, teams }: Who, idOrDigest: string) {
  const rows = await sql<Row[]>`
    select a.id, a.team_id as "teamId", a.digest, a.kind, a.name, a.uri, a.media_type as "mediaType", a.platform, a.created_at as "createdAt",
      a.sbom_problem as "sbomProblem", (
        select coalesce(jsonb_agg(jsonb_build_object('source', l.source, 'by', l.by, 'sha256', l.sha256, 'unread', l.unread, 'packages', p.packages, 'at', l.at,
          'setId', p.id) order by l.source <> 'runner', l.at, l.sha256), '[]')
        from artifact_sboms l join package_sets p on p.id = l.package_set_id
        where l.team_id = a.team_id and l.artifact_id = a.id
      ) as lists,
      ${sourceColumns(sql)}
    from artifacts a
    left join lateral (
      select * from artifact_sources x where x.team_id = a.team_id and x.artifact_id = a.id
      order by ${rankOf(sql)}, x.at, x.ref limit ${SOURCES_SHOWN_MAX}::int
    ) s on true
    where ${isNamed(sql, teams, idOrDigest)} order by s.at, s.ref`;
  const [artifact] = rows;
  if (artifact === undefined) throw notFound('artifact');
  teams.require(artifact.teamId);
  const sources = rows.filter((row) => row.origin !== null);
  const { sbomProblem: problem, lists } = artifact;
  const [first, ...others] = lists;
  const differences = await differencesOf(sql, teams, first, others);
  const sbom = {
    packages: first?.packages ?? null,
    unread: first?.unread ?? [],
    problem,
    sha256: first?.sha256 ?? null,
    lists: lists.map(({ at, ...list }, place) => ({
      ...list,
      at: new Date(at),
      difference: place === 0 ? undefined : differences.get(list.setId),
    })),
  };
  return shown(ArtifactSchema, artifact, { sources, sbom });
}

/** Compares each list with what a runner listed, by its set of packages. */
async function differencesOf(
  sql: SqlTag,
  teams: TeamScope,
  ...[first, others]: readonly [first: List | undefined, others: readonly List[]]
): Promise<ReadonlyMap<number, SetDifference>> {
  if (first?.source !== 'runner' || others.length === 0) return new Map();
  return await setDifferences(sql, teams, { from: first.setId, ids: others.map(({ setId }) => setId) });
}

/** Presents the newest passport of the artifact. */
export async function presentPassport({ db: { sql }, teams }: Who, idOrDigest: string) {
  const [row] = await sql<
    Array<{ inTeam: string } & (Passport | { readonly [Column in keyof Passport]: null })>
  >`
    select a.team_id as "inTeam", p.artifact_id as "artifactId", p.revision, p.document, p.bundle, p.created_at as "createdAt"
    from artifacts a
    left join lateral (
      select * from artifact_passports x where x.team_id = a.team_id and x.artifact_id = a.id order by x.revision desc limit 1
    ) p on true
    where ${isNamed(sql, teams, idOrDigest)}`;
  if (row === undefined) throw notFound('artifact');
  teams.require(row.inTeam);
  if (row.bundle === null)
    throw apiError('passport_not_ready', 'the passport of the artifact is not made yet; try again', {
      retryAfterMs: AFTER_MS,
    });
  const document = row.document as JsonObject;
  return shown(ArtifactPassportSchema, row, { document, bundle: await bundleJson(row.bundle) });
}
