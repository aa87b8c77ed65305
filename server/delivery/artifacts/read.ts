/** Reads of one artifact, by its id or its digest: each is one statement by hand. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { JsonObject } from '@bufbuild/protobuf';
import { ArtifactPassportSchema, ArtifactSchema } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { TeamScope } from '../../platform/context.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { notFound } from '../../platform/not-found.ts';
import { shown } from '../../platform/resource/index.ts';
import type { RowOf, Who } from '../../platform/resource/index.ts';
import type { Fragment } from '../../platform/sql.ts';
import { AFTER_MS } from './passport-due.ts';
import type { artifactPassports, artifacts, artifactSources } from './schema.ts';
import { bundleJson } from './statements.ts';

const SOURCES_SHOWN_MAX = 100;

export type Artifact = RowOf<typeof artifacts>;
type Source = Omit<typeof artifactSources.$inferSelect, 'teamId' | 'artifactId' | 'operator'>;
type Passport = typeof artifactPassports.$inferSelect;

/** One for each source. */
type Row = Pick<
  Artifact,
  'id' | 'teamId' | 'digest' | 'kind' | 'name' | 'uri' | 'mediaType' | 'platform' | 'createdAt'
> & {
  /** Null: it is not known what it is made of. */
  readonly packages: number | null;
  readonly unread: Artifact['sbomUnread'];
  readonly problem: Artifact['sbomProblem'];
  readonly sha256: Artifact['sbomSha256'];
} & (Source | { readonly [Column in keyof Source]: null });

/** The artifact `a`, within the teams of the call. */
function isNamed(sql: SqlTag, teams: TeamScope, idOrDigest: string): Fragment {
  const name = idOrDigest.startsWith('sha256:') ? sql`a.digest` : sql`a.id`;
  return sql`a.team_id = any(${[...teams.teamIds]}::text[]) and ${name} = ${idOrDigest}`;
}

export async function findArtifact({ db: { sql }, teams }: Who, idOrDigest: string): Promise<Artifact> {
  const [row] = await sql<Artifact[]>`
    select a.id, a.team_id as "teamId", a.digest, a.kind, a.name, a.uri, a.media_type as "mediaType", a.platform, a.package_set_id as "packageSetId",
      a.sbom_sha256 as "sbomSha256", a.sbom_unread as "sbomUnread", a.sbom_problem as "sbomProblem", a.created_at as "createdAt"
    from artifacts a where ${isNamed(sql, teams, idOrDigest)}`;
  if (row === undefined) throw notFound('artifact');
  teams.require(row.teamId);
  return row;
}

export async function presentArtifact({ db: { sql }, teams }: Who, idOrDigest: string) {
  const rows = await sql<Row[]>`
    select a.id, a.team_id as "teamId", a.digest, a.kind, a.name, a.uri, a.media_type as "mediaType", a.platform, a.created_at as "createdAt",
      p.packages, a.sbom_unread as unread, a.sbom_problem as problem, a.sbom_sha256 as sha256,
      s.origin, s.ref, s.project_id as "projectId", s.project_name as "projectName", s.environment_id as "environmentId",
      s.environment_name as "environmentName", s.repository, s.branch, s.commit, s.runner_id as "runnerId", s.region_id as "regionId", s.at
    from artifacts a
    left join package_sets p on p.team_id = a.team_id and p.id = a.package_set_id
    left join lateral (
      select * from artifact_sources x where x.team_id = a.team_id and x.artifact_id = a.id
      order by x.at, x.ref limit ${SOURCES_SHOWN_MAX}::int
    ) s on true
    where ${isNamed(sql, teams, idOrDigest)} order by s.at, s.ref`;
  const [artifact] = rows;
  if (artifact === undefined) throw notFound('artifact');
  teams.require(artifact.teamId);
  const sources = rows.filter((row) => row.origin !== null);
  return shown(ArtifactSchema, artifact, { sources, sbom: artifact });
}

/** The newest one. */
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
  return shown(ArtifactPassportSchema, row, { document, bundle: bundleJson(row.bundle) });
}
