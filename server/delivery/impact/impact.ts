/**
 * Finds what a digest, a commit or a package is part of. A package is looked up in two steps, its sets and
 * then what is made of them: one join over all members reads all of them for a package that everything holds.
 * What runs now is read from the environments, of which there are few, and never from the artifacts.
 */
import { problem } from '@svc/proto/http/json-text.ts';
import type {
  ImpactedEnvironment,
  ImpactedRelease,
  ImpactRequest,
  ImpactUnknown,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import type { Row, Who } from '../../kit/resource/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { namesNear, setsWith, wantedPackage, type Impact, type WantedPackage } from '../artifacts/index.ts';
import { placesOf, runsThere, whatRuns } from '../promotions/index.ts';

const SHOWN_MAX = 100;
const COUNT_MAX = 10_000;
/** Sets of packages that are looked at, the newest ones. */
const SETS_MAX = 1_000;

export async function impactOf({ db, teams }: Who, request: ImpactRequest): Promise<Impact> {
  const { sql } = db;
  const { teamId } = request;
  const wanted = wantedOf(request);
  const { matches, ids, newest, isCut } = await matching({ db, teams }, request, wanted);
  const ours = sql`a.team_id = ${teamId} and a.team_id = any(${teams.teamIds}::text[])`;
  // With a limit the planner cannot turn it around, and begin with all artifacts of a package.
  const running = sql`
    from (${whatRuns(sql, teamId, placesOf(sql, teamId))}) n cross join lateral (
      select a.digest from (${runsThere(sql, teamId)}) t join artifacts a on a.id = t.id where ${ours} and ${matches} limit 1
    ) a`;
  const holding = sql`
    from (select distinct ra.release_id from release_artifacts ra join (${ids(ours)}) a on a.id = ra.artifact_id where ra.team_id = ${teamId}) ra
      join releases r on r.id = ra.release_id`;
  const counted = (rows: Fragment): Fragment =>
    sql`(select count(*)::int from (select 1 ${rows} limit ${COUNT_MAX}::int) c)`;
  const [environments, releases, artifacts, [counts]] = await Promise.all([
    sql<Array<Row<ImpactedEnvironment>>>`
      select n.environment_id as "environmentId", n.environment_name as "environmentName", a.digest, n.build_id as "buildId",
        n.promotion_id as "promotionId", n.address, n.deployed_at as "deployedAt"
      ${running} order by n.deployed_at desc, n.environment_id limit ${SHOWN_MAX}::int`,
    sql<Array<Row<ImpactedRelease>>>`
      select r.id, r.project_id as "projectId", r.version ${holding} order by r.id desc limit ${SHOWN_MAX}::int`,
    sql<Array<{ id: string }>>`${newest(ours)}`,
    sql<Array<Record<'environments' | 'releases' | 'artifacts', number>>>`
      select ${counted(running)} as environments, ${counted(holding)} as releases,
        ${counted(sql`from (select distinct id from (${ids(ours)} limit ${2 * COUNT_MAX}::int) a) a`)} as artifacts`,
  ]);
  const most = counts ?? { environments: 0, releases: 0, artifacts: 0 };
  const truncated = isCut || Object.values(most).some((count) => count > SHOWN_MAX);
  const artifactIds = artifacts.map(({ id }) => id);
  const said = await answered({ db, teams }, { teamId, wanted, isFound: artifactIds.length > 0 });
  return { environments, releases, artifactIds, counts: most, truncated, ...said };
}

interface Answering {
  readonly teamId: string;
  readonly wanted: WantedPackage | undefined;
  readonly isFound: boolean;
}

/** A digest and a commit are always known. */
async function answered(who: Who, { teamId, wanted, isFound }: Answering) {
  const unless = isFound ? 'hit' : 'no_hit';
  if (wanted === undefined) return { answer: unless, unknown: null, nearNames: [] };
  const unknown = await unknownIn(who, teamId, COUNT_MAX);
  const isAllKnown = unknown.withoutList + unknown.partlyRead === 0;
  return {
    answer: isFound || isAllKnown ? unless : 'unknown',
    unknown,
    nearNames: isFound ? [] : await namesNear(who.db.sql, who.teams, wanted),
  };
}

/** It is undefined where no package is asked after. */
function wantedOf({ packageName }: ImpactRequest): WantedPackage | undefined {
  if (packageName === undefined) return undefined;
  const wanted = wantedPackage(packageName);
  if (wanted !== undefined) return wanted;
  throw problem(
    'packageName',
    'package_name',
    `${JSON.stringify(packageName.slice(0, 100))} is neither the name of a package nor a package URL`,
  );
}

interface Matching {
  /** Over the artifact `a`. */
  readonly matches: Fragment;
  /** Statement of all ids, some of them twice. */
  ids(ours: Fragment): Fragment;
  /** Statement of the newest ids. */
  newest(ours: Fragment): Fragment;
  /** Not all sets of packages were looked at. */
  readonly isCut: boolean;
}

async function matching(
  { db: { sql }, teams }: Who,
  { teamId, digest, commit, packageName }: ImpactRequest,
  wanted: WantedPackage | undefined,
): Promise<Matching> {
  const given = [digest, commit, packageName].filter((each) => each !== undefined).length;
  if (given !== 1)
    throw problem(
      'digest',
      'exactly_one',
      `${given} of digest, commit and packageName are given, expected exactly one`,
    );
  const simply = (matches: Fragment): Matching => ({
    matches,
    ids: (ours) => sql`select a.id from artifacts a where ${ours} and ${matches}`,
    newest: (ours) =>
      sql`select a.id from artifacts a where ${ours} and ${matches} order by a.id desc limit ${SHOWN_MAX}::int`,
    isCut: false,
  });
  if (digest !== undefined) return simply(sql`a.digest = ${digest}`);
  if (commit !== undefined)
    return simply(
      sql`a.id in (select s.artifact_id from artifact_sources s where s.team_id = ${teamId} and s.commit = ${commit})`,
    );
  const sets = wanted === undefined ? [] : await setsWith(sql, teams, { wanted, limit: SETS_MAX + 1 });
  const setIds = sets.slice(0, SETS_MAX);
  return {
    matches: sql`exists (select from artifact_sboms l where l.artifact_id = a.id and l.package_set_id = any(${setIds}::bigint[]))`,
    ids: (ours) =>
      sql`select a.artifact_id as id from artifact_sboms a where ${ours} and a.package_set_id = any(${setIds}::bigint[])`,
    // Set by set: each is a look into the index that has its artifacts in the order of time.
    newest: (ours) => sql`
      select distinct a.id from unnest(${setIds}::bigint[]) s(id) cross join lateral (
        select a.artifact_id as id from artifact_sboms a where ${ours} and a.package_set_id = s.id order by a.artifact_id desc limit ${SHOWN_MAX}::int
      ) a order by a.id desc limit ${SHOWN_MAX}::int`,
    isCut: sets.length > SETS_MAX,
  };
}

/**
 * Counts, each to `max`, what no search for a package finds: artifacts without a list, and with one that does
 * not tell all.
 */
async function unknownIn(
  { db: { sql }, teams }: Who,
  teamId: string,
  max: number,
): Promise<Row<ImpactUnknown>> {
  teams.require(teamId);
  const hasNoList = sql`not exists (select from artifact_sboms l where l.artifact_id = a.id)`;
  const [counts] = await sql<Array<Row<ImpactUnknown>>>`
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
