/**
 * These statements tell what was deployed, and what runs now: by builds of the platform, and elsewhere, where
 * a promotion that no build deploys was completed as deployed. Elsewhere all that the release holds was
 * deployed, or the one image that the promotion names. Whoever tells of deployments goes by these statements.
 */
// No TeamScope: fragments of statements that take a TeamScope.
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';

/** The condition is that the row `x` of promotions was deployed elsewhere. */
const isElsewhere = (sql: SqlTag): Fragment => sql`x.state = 'deployed' and x.build_id is null`;

/**
 * The statement reads the deployments, elsewhere or not, of all artifacts. `of` are conditions on the rows
 * `x` of `deployments` and of `promotions`, which have the same names for team and digest only.
 */
export const allDeployments = (
  sql: SqlTag,
  of: { readonly deployments: Fragment; readonly promotions: Fragment },
): Fragment => sql`
  select x.id, x.team_id, x.project_id, x.environment_id, x.environment_name, x.number, x.build_id, x.digest, x.promotion_id, x.runner_id, x.region_id, x.how,
    x.address, x.deployed_at
  from deployments x where ${of.deployments}
  union all
  select 'dep' || substr(x.id, 4), x.team_id, x.project_id, x.environment_id, x.environment_name, null, null, null, x.id, null, null, 'elsewhere', x.url, x.ended_at
  from promotions x where ${isElsewhere(sql)} and ${of.promotions}`;

/** The statement reads the deployments, elsewhere or not, of one artifact. */
export const deploymentsOfArtifact = (
  sql: SqlTag,
  { teamId, id, digest }: { readonly teamId: string; readonly id: string; readonly digest: string },
): Fragment =>
  allDeployments(sql, {
    deployments: sql`x.team_id = ${teamId} and x.digest = ${digest}`,
    promotions: sql`x.team_id = ${teamId} and coalesce(x.artifact_id, ${id}) = ${id}
      and x.release_id in (select r.release_id from release_artifacts r where r.team_id = ${teamId} and r.artifact_id = ${id})`,
  });

/**
 * The statement reads what runs now in each of the environments of the statement of ids. Where something was
 * deployed elsewhere `digest` is null: it is what `runsThere` says.
 */
export const whatRuns = (sql: SqlTag, teamId: string, environments: Fragment): Fragment => sql`
  select e.id as environment_id, n.*, p.release_id, p.version, p.artifact_id
  from (${environments}) e (id)
  cross join lateral (
    (
      select d.environment_name, d.project_id, d.how, d.promotion_id, d.build_id, d.digest, d.region_id, d.address, d.deployed_at
      from deployment_heads h join deployments d on d.build_id = h.build_id where h.environment_id = e.id and h.team_id = ${teamId}
      union all
      (
        select x.environment_name, x.project_id, 'elsewhere', x.id, null, null, null, x.url, x.ended_at
        from promotions x where x.environment_id = e.id and x.team_id = ${teamId} and ${isElsewhere(sql)} order by x.ended_at desc, x.id desc limit 1
      )
    )
    order by deployed_at desc, build_id limit 1
  ) n
  left join promotions p on p.id = n.promotion_id and p.team_id = ${teamId}`;

/**
 * All in which something of a team may run: those that there are, and those that are gone and had a
 * deployment.
 */
export const placesOf = (sql: SqlTag, teamId: string): Fragment => sql`
  select id from environments where team_id = ${teamId} union select environment_id from deployment_heads where team_id = ${teamId}`;

/** The statement reads the ids of the artifacts of what runs, `n` of `whatRuns`. */
export const runsThere = (sql: SqlTag, teamId: string): Fragment => sql`
  select a.id, a.digest from artifacts a where a.team_id = ${teamId} and a.digest = n.digest
  union all
  select a.id, a.digest from release_artifacts ra join artifacts a on a.id = ra.artifact_id
  where n.digest is null and ra.team_id = ${teamId} and ra.release_id = n.release_id and ra.artifact_id = coalesce(n.artifact_id, ra.artifact_id)`;

/** The statement reads the digests of what `d` of `allDeployments` brought elsewhere. */
export const deployedElsewhere = (sql: SqlTag): Fragment => sql`
  select a.digest from promotions p join release_artifacts ra on ra.team_id = p.team_id and ra.release_id = p.release_id join artifacts a on a.id = ra.artifact_id
  where p.id = d.promotion_id and a.id = coalesce(p.artifact_id, a.id) order by a.digest`;
