/**
 * What a digest, a commit or a package is part of. A package is looked up in two steps, its sets and then what is made of them: one join over all members reads all of them for a package that
 * everything holds. What runs now is read from the environments, of which there are few, and never from the artifacts.
 */
import { problem } from '@svc/proto/http/json-text.ts';
import type { ImpactRequest } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { Who } from '../../platform/resource/index.ts';
import type { Fragment } from '../../platform/sql.ts';
import { setsWith } from './sbom/store.ts';

const SHOWN_MAX = 100;
const COUNT_MAX = 10_000;
/** Sets of packages that are looked at, the newest ones. */
const SETS_MAX = 1_000;

interface Impact {
  readonly environments: readonly Environment[];
  readonly releases: ReadonlyArray<{
    readonly id: string;
    readonly projectId: string;
    readonly version: string;
  }>;
  /** Ids, newest first. */
  readonly artifactIds: readonly string[];
  readonly counts: { readonly environments: number; readonly releases: number; readonly artifacts: number };
  readonly truncated: boolean;
}

interface Environment {
  readonly environmentId: string;
  readonly environmentName: string;
  readonly digest: string;
  readonly buildId: string;
  readonly promotionId: string | null;
  readonly address: string | null;
  readonly deployedAt: Date;
}

export async function impactOf({ db, teams }: Who, request: ImpactRequest): Promise<Impact> {
  const { sql } = db;
  const { teamId } = request;
  const { matches, newest, isCut } = await matching({ db, teams }, request);
  const ours = sql`a.team_id = ${teamId} and a.team_id = any(${[...teams.teamIds]}::text[])`;
  // With a limit the planner cannot turn it around, and begin with all artifacts of a package.
  const heads = sql`
    from deployment_heads h cross join lateral (
      select from artifacts a where a.team_id = h.team_id and a.digest = h.digest and ${ours} and ${matches} limit 1
    ) a where h.team_id = ${teamId}`;
  const holding = sql`
    from (select distinct ra.release_id from release_artifacts ra join artifacts a on a.id = ra.artifact_id where ra.team_id = ${teamId} and ${ours} and ${matches}) ra
      join releases r on r.id = ra.release_id`;
  const counted = (rows: Fragment): Fragment =>
    sql`(select count(*)::int from (select 1 ${rows} limit ${COUNT_MAX}::int) c)`;
  const [environments, releases, artifacts, [counts]] = await Promise.all([
    sql<Environment[]>`
      select d.environment_id as "environmentId", d.environment_name as "environmentName", d.digest, d.build_id as "buildId",
        d.promotion_id as "promotionId", d.address, d.deployed_at as "deployedAt"
      from (select h.build_id ${heads}) h join deployments d on d.build_id = h.build_id
      order by d.deployed_at desc, d.id desc limit ${SHOWN_MAX}::int`,
    sql<Array<Impact['releases'][number]>>`
      select r.id, r.project_id as "projectId", r.version ${holding} order by r.id desc limit ${SHOWN_MAX}::int`,
    sql<Array<{ id: string }>>`${newest(ours)}`,
    sql<Array<Impact['counts']>>`
      select ${counted(heads)} as environments, ${counted(holding)} as releases,
        ${counted(sql`from artifacts a where ${ours} and ${matches}`)} as artifacts`,
  ]);
  const most = counts ?? { environments: 0, releases: 0, artifacts: 0 };
  const truncated = isCut || Object.values(most).some((count) => count > SHOWN_MAX);
  return { environments, releases, artifactIds: artifacts.map(({ id }) => id), counts: most, truncated };
}

interface Matching {
  /** Over the artifact `a`. */
  readonly matches: Fragment;
  /** Statement of the newest ids. */
  newest(ours: Fragment): Fragment;
  /** Not all sets of packages were looked at. */
  readonly isCut: boolean;
}

async function matching({ db: { sql }, teams }: Who, request: ImpactRequest): Promise<Matching> {
  const { teamId, digest, commit, packageName } = request;
  const given = [digest, commit, packageName].filter((each) => each !== undefined).length;
  if (given !== 1)
    throw problem(
      'digest',
      'exactly_one',
      `${given} of digest, commit and packageName are given, expected exactly one`,
    );
  const simply = (matches: Fragment): Matching => ({
    matches,
    newest: (ours) =>
      sql`select a.id from artifacts a where ${ours} and ${matches} order by a.id desc limit ${SHOWN_MAX}::int`,
    isCut: false,
  });
  if (digest !== undefined) return simply(sql`a.digest = ${digest}`);
  if (commit !== undefined)
    return simply(
      sql`a.id in (select s.artifact_id from artifact_sources s where s.team_id = ${teamId} and s.commit = ${commit})`,
    );
  const sets = await setsWith(sql, teams, { name: packageName ?? '', limit: SETS_MAX + 1 });
  const ids = sets.slice(0, SETS_MAX);
  return {
    matches: sql`a.package_set_id = any(${ids}::bigint[])`,
    // Set by set: each is a look into the index that has its artifacts in the order of time.
    newest: (ours) => sql`
      select a.id from unnest(${ids}::bigint[]) s(id) cross join lateral (
        select a.id from artifacts a where ${ours} and a.package_set_id = s.id order by a.id desc limit ${SHOWN_MAX}::int
      ) a order by a.id desc limit ${SHOWN_MAX}::int`,
    isCut: sets.length > SETS_MAX,
  };
}
