/** Releases, promotions, artifacts with what is stated about them, policies and members: whatever else belongs to the period. */
import { createHash } from 'node:crypto';
import { approvalsOf } from './population.ts';
import { groupBy, keyset } from './reading.ts';
import type { Reading } from './reading.ts';

const PIECE = 100;
/** Bundles may have 1 MiB each. */
const BUNDLES_AT_ONCE = 8;
/** Of one artifact. */
const SOURCES_MAX = 100;

/** What a piece is read by: behind the id, at most so many. */
type Next = readonly [after: string, take: number];
type Rows<Row> = Promise<ReadonlyArray<Row & { readonly id: string }>>;

export async function addReleases(reading: Reading): Promise<number> {
  let count = 0;
  for await (const rows of keyset(reading, PIECE, async (...next) => await releases(reading, ...next))) {
    for (const row of rows) reading.archive.add(`releases/${row.id}.json`, row);
    count += rows.length;
  }
  return count;
}

async function releases({ db, teams, start, until }: Reading, ...[after, take]: Next): Rows<object> {
  return await db.sql<Array<{ id: string }>>`
    select r.id, r.project_id as "projectId", r.project_name as "projectName", r.version, r.notes, r.digest, r.created_by as "createdBy",
      r.created_at as "createdAt", array(
        select a.digest from release_artifacts x join artifacts a on a.id = x.artifact_id where x.release_id = r.id order by a.digest
      ) as artifacts
    from releases r where r.team_id = any(${[...teams.teamIds]}::text[]) and r.created_at >= ${start} and r.created_at < ${until} and r.id > ${after}
    order by r.id limit ${take}::int`;
}

/** Those that were asked for or ended in the period. */
export async function addPromotions(reading: Reading): Promise<number> {
  let count = 0;
  for await (const rows of keyset(reading, PIECE, async (...next) => await promotions(reading, ...next))) {
    const ids = rows.map(({ id }) => id);
    const approvals = groupBy(await approvalsOf(reading, ids), ({ promotionId }) => promotionId);
    for (const row of rows)
      reading.archive.add(`promotions/${row.id}.json`, { ...row, approvals: approvals.get(row.id) ?? [] });
    count += rows.length;
  }
  return count;
}

async function promotions({ db, teams, start, until }: Reading, ...[after, take]: Next): Rows<object> {
  return await db.sql<Array<{ id: string }>>`
    select id, project_id as "projectId", environment_id as "environmentId", environment_name as "environmentName", release_id as "releaseId",
      version, artifact_id as "artifactId", state, rejection, reason, held, requested_by as "requestedBy", override_reason as "overrideReason",
      build_id as "buildId", digest, created_at as "createdAt", approved_at as "approvedAt", ended_at as "endedAt"
    from promotions
    where team_id = any(${[...teams.teamIds]}::text[]) and id > ${after}
      and (created_at >= ${start} and created_at < ${until} or ended_at >= ${start} and ended_at < ${until})
    order by id limit ${take}::int`;
}

/** Those that were deployed, released or seen for the first time in the period. */
export async function addArtifacts(
  reading: Reading,
): Promise<{ readonly artifacts: number; readonly attestations: number }> {
  const count = { artifacts: 0, attestations: 0 };
  for await (const rows of keyset(reading, PIECE, async (...next) => await artifacts(reading, ...next)))
    for (const row of rows) {
      const stated = await addAttestations(reading, row.digest);
      const attestations = stated.map(({ listed }) => listed);
      reading.archive.add(`artifacts/${row.id}.json`, { ...row, attestations });
      count.artifacts += 1;
      count.attestations += stated.filter(({ isNew }) => isNew).length;
    }
  return count;
}

async function artifacts(
  { db, teams, start, until }: Reading,
  ...[after, take]: Next
): Rows<{ readonly digest: string }> {
  return await db.sql<Array<{ id: string; digest: string }>>`
    select a.id, a.digest, a.kind, a.name, a.uri, a.media_type as "mediaType", a.platform, a.created_at as "createdAt",
      a.package_set_id is not null as "hasPackages", a.sbom_sha256 as "sbomSha256", a.sbom_unread as "sbomUnread", a.sbom_problem as "sbomProblem",
      array(
        select jsonb_build_object('origin', s.origin, 'ref', s.ref, 'projectName', s.project_name, 'environmentName', s.environment_name,
          'repository', s.repository, 'branch', s.branch, 'commit', s.commit, 'runnerId', s.runner_id, 'regionId', s.region_id, 'operator', s.operator)
        from artifact_sources s where s.artifact_id = a.id order by s.at, s.origin, s.ref limit ${SOURCES_MAX}::int
      ) as sources
    from artifacts a
    where a.team_id = any(${[...teams.teamIds]}::text[]) and a.id > ${after} and (
      a.created_at >= ${start} and a.created_at < ${until}
      or exists (
        select 1 from deployments d where d.team_id = a.team_id and d.digest = a.digest and d.deployed_at >= ${start} and d.deployed_at < ${until})
      or exists (
        select 1 from release_artifacts x join releases r on r.id = x.release_id
        where x.team_id = a.team_id and x.artifact_id = a.id and r.created_at >= ${start} and r.created_at < ${until}))
    order by a.id limit ${take}::int`;
}

interface Bundle {
  readonly id: string;
  readonly predicateType: string;
  readonly source: string;
  readonly bundle: Uint8Array;
  readonly ledgerSeq: number;
}

/** The bundles about a digest, each once in the package. */
async function addAttestations(reading: Reading, digest: string) {
  const stated = [];
  const pieces = keyset(
    reading,
    BUNDLES_AT_ONCE,
    async (...next) => await bundlesAbout(digest, reading, ...next),
  );
  for await (const rows of pieces)
    for (const { bundle, ...row } of rows) {
      const file = `attestations/${createHash('sha256').update(bundle).digest('hex')}.sigstore.json`;
      const isNew = !reading.archive.has(file);
      if (isNew) reading.archive.add(file, bundle);
      stated.push({ isNew, listed: { ...row, file } });
    }
  return stated;
}

async function bundlesAbout(
  digest: string,
  { db, teams }: Reading,
  ...[after, take]: Next
): Promise<readonly Bundle[]> {
  return await db.sql<Bundle[]>`
    select t.id, t.predicate_type as "predicateType", t.source, t.bundle, t.ledger_seq as "ledgerSeq"
    from attestation_subjects s join attestations t on t.team_id = s.team_id and t.id = s.attestation_id
    where s.team_id = any(${[...teams.teamIds]}::text[]) and s.digest = ${digest} and t.id > ${after} order by t.id limit ${take}::int`;
}

/** The revisions that could be in force in the period. When each policy was enabled is in the ledger. */
export async function addPolicies(reading: Reading): Promise<number> {
  let count = 0;
  for await (const rows of keyset(reading, PIECE, async (...next) => await revisions(reading, ...next))) {
    for (const { id: _place, ...row } of rows)
      reading.archive.add(`policies/${row.policyId}-${row.revision}.json`, row);
    count += rows.length;
  }
  return count;
}

interface Revision {
  readonly policyId: string;
  readonly revision: number;
}

async function revisions({ db, teams, start, until }: Reading, ...[after, take]: Next): Rows<Revision> {
  return await db.sql<Array<Revision & { id: string }>>`
    select r.policy_id || '-' || lpad(r.revision::text, 10, '0') as id, r.policy_id as "policyId", p.name, p.project_id as "projectId",
      p.environment_id as "environmentId", r.revision, encode(r.sha256, 'hex') as sha256, r.by, r.at, r.document
    from policies p join policy_revisions r on r.team_id = p.team_id and r.policy_id = p.id
    where p.team_id = any(${[...teams.teamIds]}::text[]) and r.at < ${until} and r.policy_id || '-' || lpad(r.revision::text, 10, '0') > ${after}
      and not exists (select 1 from policy_revisions n where n.policy_id = r.policy_id and n.revision = r.revision + 1 and n.at <= ${start})
    order by 1 limit ${take}::int`;
}

/** As they are when the package is assembled; who came and went is in the ledger. */
export async function addMembers(reading: Reading): Promise<number> {
  const all = async function* () {
    for await (const rows of keyset(reading, PIECE, async (...next) => await members(reading, ...next)))
      yield* rows;
  };
  return await reading.archive.addList('access/members.json', all());
}

async function members({ db, teams }: Reading, ...[after, take]: Next): Rows<object> {
  return await db.sql<Array<{ id: string }>>`
    select m.user_id as id, u.username, m.role, m.joined_at as "joinedAt" from team_members m join users u on u.id = m.user_id
    where m.team_id = any(${[...teams.teamIds]}::text[]) and m.user_id > ${after} order by m.user_id limit ${take}::int`;
}
