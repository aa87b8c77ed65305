/**
 * The supply chain of one team, inserted as rows. Ten artifacts share a set of ten packages, one in a hundred
 * is in a release, each project has a thousand, three come from one commit, and twenty environments run the
 * newest ones. So whatever is asked has an answer of the same size, however many artifacts there are.
 */
import { createHash } from 'node:crypto';
import type postgres from 'postgres';

export const COMMON = 'openssl';
export const RARE = 'left-pad';
/** Size of the pool that the other members of each set come from. */
const LIBRARIES = 1_000;
const LIBRARIES_OF_SET = 9;
const ARTIFACTS_OF_SET = 10;
const ARTIFACTS_OF_PROJECT = 1_000;
const ENVIRONMENTS = 20;

interface Filling {
  readonly teamId: string;
  readonly projectId: string;
  readonly artifacts: number;
  /** One letter, in all ids of the team. */
  readonly mark: string;
  /** Number behind which ids of packages and of sets begin. */
  readonly base: number;
}

export interface FilledTeam extends Filling {
  /** Returns the id of the n-th artifact, from 1 on. The greatest is the newest. */
  idOf(n: number): string;
  digestOf(n: number): string;
  commitOf(n: number): string;
}

export async function fillTeam(sql: postgres.Sql, filling: Filling): Promise<FilledTeam> {
  const { mark } = filling;
  // At once, as no row's references are checked.
  await Promise.all([
    fillArtifacts(sql, filling),
    fillSources(sql, filling),
    fillPackages(sql, filling),
    fillReleases(sql, filling),
  ]);
  const hex = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest('hex');
  return {
    ...filling,
    idOf: (n) => `art_${mark}${String(n).padStart(25, '0')}`,
    digestOf: (n) => `sha256:${hex('sha256', `${mark}${n}`)}`,
    commitOf: (n) => `${hex('md5', `${mark}${Math.floor((n - 1) / 3)}`)}00000000`,
  };
}

async function fillPackages(sql: postgres.Sql, { teamId, artifacts, base }: Filling): Promise<void> {
  const sets = artifacts / ARTIFACTS_OF_SET;
  await sql`
    insert into packages (id, team_id, type, name, name_key, version, purl, licenses, claim) overriding system value
    select ${base}::bigint + n, ${teamId}, 'npm', name, name, '1', 'pkg:npm/' || name || '@1', '{MIT}'::text[], sha256(n::text::bytea)
    from generate_series(1, ${LIBRARIES + 2}::int) n,
      lateral (select case n when 1 then ${COMMON}::text when 2 then ${RARE}::text else 'library-' || n end as name) t`;
  await sql`
    insert into package_sets (id, team_id, digest, packages, created_at) overriding system value
    select ${base}::bigint + n, ${teamId}, sha256(n::text::bytea), ${LIBRARIES_OF_SET + 1}::int, now() from generate_series(1, ${sets}::int) n`;
  // 111 and 1,000 have no divisor in common, so that no set has a library twice.
  await sql`
    insert into package_set_members (team_id, set_id, package_id, place)
    select ${teamId}, ${base}::bigint + n, ${base}::bigint + case k when 0 then 1 else 3 + (n * 7 + k * 111) % ${LIBRARIES}::int end, k + 1
    from generate_series(1, ${sets}::int) n, generate_series(0, ${LIBRARIES_OF_SET}::int) k`;
  await sql`
    insert into package_set_members (team_id, set_id, package_id, place)
    values (${teamId}, ${base + sets}::bigint, ${base + 2}::bigint, ${LIBRARIES_OF_SET + 2}::int)`;
}

async function fillArtifacts(sql: postgres.Sql, filling: Filling): Promise<void> {
  const { teamId, artifacts, mark, base } = filling;
  const setOf = sql`${base}::bigint + 1 + n % ${artifacts / ARTIFACTS_OF_SET}::int`;
  // The artifact has the first of its lists itself, as the server keeps it.
  await sql`
    insert into artifacts (id, team_id, digest, kind, name, package_set_id, sbom_sha256, created_at)
    select 'art_' || ${mark}::text || lpad(n::text, 25, '0'), ${teamId}, 'sha256:' || encode(sha256((${mark}::text || n)::bytea), 'hex'), 'image', 'acme/web',
      ${setOf}, 'none', now()
    from generate_series(1, ${artifacts}::int) n`;
  await sql`
    insert into artifact_sboms (team_id, artifact_id, source, sha256, package_set_id, unread, at)
    select ${teamId}, 'art_' || ${mark}::text || lpad(n::text, 25, '0'), 'runner', 'none', ${setOf}, '{}', now()
    from generate_series(1, ${artifacts}::int) n`;
}

async function fillSources(
  sql: postgres.Sql,
  { teamId, projectId, artifacts, mark }: Filling,
): Promise<void> {
  await sql`
    insert into artifact_sources (team_id, artifact_id, origin, ref, project_id, commit, at)
    select ${teamId}, 'art_' || ${mark}::text || lpad(n::text, 25, '0'), 'declared', 'usr_bench',
      case n % ${artifacts / ARTIFACTS_OF_PROJECT}::int when 0 then ${projectId} else 'prj_' || ${mark}::text || n % ${artifacts / ARTIFACTS_OF_PROJECT}::int end,
      md5(${mark}::text || (n - 1) / 3) || '00000000', now()
    from generate_series(1, ${artifacts}::int) n`;
}

async function fillReleases(sql: postgres.Sql, filling: Filling): Promise<void> {
  const { teamId, projectId, artifacts, mark } = filling;
  await sql`
    insert into releases (id, team_id, project_id, project_name, version, version_key, digest, created_by, created_at)
    select 'rel_' || ${mark}::text || lpad(n::text, 25, '0'), ${teamId}, ${projectId}, 'bench', n::text, n::text, 'sha256:', 'usr_bench', now()
    from generate_series(100, ${artifacts}::int, 100) n`;
  await sql`
    insert into release_artifacts (team_id, release_id, artifact_id)
    select ${teamId}, 'rel_' || ${mark}::text || lpad(n::text, 25, '0'), 'art_' || ${mark}::text || lpad(n::text, 25, '0')
    from generate_series(100, ${artifacts}::int, 100) n`;
  await sql`
    insert into deployments (id, team_id, project_id, environment_id, environment_name, number, build_id, digest, runner_id, region_id, how, deployed_at, created_at)
    select 'dep_' || ${mark}::text || n, ${teamId}, ${projectId}, 'env_' || ${mark}::text || n, 'environment-' || n, 1, 'bld_' || ${mark}::text || n,
      'sha256:' || encode(sha256((${mark}::text || (${artifacts}::int - n))::bytea), 'hex'), 'run_bench', 'reg_bench', 'direct', now(), now()
    from generate_series(1, ${ENVIRONMENTS}::int) n`;
  await sql`
    insert into deployment_heads (environment_id, team_id, number, build_id, digest)
    select environment_id, team_id, number, build_id, digest from deployments where team_id = ${teamId}`;
}
