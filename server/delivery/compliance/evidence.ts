/**
 * Releases, promotions, artifacts with what is stated about them, policies and members: whatever else belongs
 * to the period.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { rankOf } from '../artifacts/index.ts';
import { isPacked } from '../attestations/index.ts';
import { approvalsOf } from './population.ts';
import { groupBy, keyset, type Piece, type Reading } from './reading.ts';
import { sha256Of } from './archive.ts';

const PIECE = 100;
/** Bundles have 2.25 MiB at most, as they are stored. */
const BUNDLES_AT_ONCE = 8;
/** Sources that are listed of one artifact. */
const SOURCES_MAX = 100;
/**
 * The most bytes of all documents about packages: they never make a package too large for the rest. One that
 * is left out has its SHA-256, and is fetched from the artifact.
 */
const DOCUMENTS_BYTES_MAX = 24 * 1_048_576;

type Rows<Row> = Promise<ReadonlyArray<Row & { readonly id: string }>>;

/** Adds a file for each row that is read. Returns how many there were. */
async function addEach<Row extends { readonly id: string }>(
  reading: Reading,
  read: (reading: Reading, piece: Piece) => Promise<readonly Row[]>,
  fileOf: (row: Row) => readonly [path: string, content: object],
): Promise<number> {
  let count = 0;
  for await (const rows of keyset(reading, PIECE, read)) {
    for (const row of rows) reading.archive.add(...fileOf(row));
    count += rows.length;
  }
  return count;
}

export async function addReleases(reading: Reading): Promise<number> {
  return await addEach(reading, releases, (row) => [`releases/${row.id}.json`, row]);
}

async function releases({ db, teams, start, until }: Reading, { after, take }: Piece): Rows<object> {
  return await db.sql<Array<{ id: string }>>`
    select r.id, r.project_id as "projectId", r.project_name as "projectName", r.version, r.notes, r.digest, r.created_by as "createdBy",
      r.created_at as "createdAt", array(
        select a.digest from release_artifacts x join artifacts a on a.id = x.artifact_id where x.release_id = r.id order by a.digest
      ) as artifacts
    from releases r where r.team_id = any(${teams.teamIds}::text[]) and r.created_at >= ${start} and r.created_at < ${until} and r.id > ${after}
    order by r.id limit ${take}::int`;
}

/** Those that were asked for or ended in the period. */
export async function addPromotions(reading: Reading): Promise<number> {
  return await addEach(reading, promotions, (row) => [`promotions/${row.id}.json`, row]);
}

async function promotions(reading: Reading, { after, take }: Piece): Rows<object> {
  const { db, teams, start, until } = reading;
  const rows = await db.sql<Array<{ id: string }>>`
    select id, project_id as "projectId", environment_id as "environmentId", environment_name as "environmentName", release_id as "releaseId",
      version, artifact_id as "artifactId", state, rejection, reason, held, requested_by as "requestedBy", override_reason as "overrideReason",
      build_id as "buildId", digest, fingerprint, subject, created_at as "createdAt", approved_at as "approvedAt", ended_at as "endedAt"
    from promotions
    where team_id = any(${teams.teamIds}::text[]) and id > ${after}
      and (created_at >= ${start} and created_at < ${until} or ended_at >= ${start} and ended_at < ${until})
    order by id limit ${take}::int`;
  const ids = rows.map(({ id }) => id);
  const approvals = groupBy(await approvalsOf(reading, ids), ({ promotionId }) => promotionId);
  return rows.map((row) => ({ ...row, approvals: approvals.get(row.id) ?? [] }));
}

/** Those that were deployed, released or seen for the first time in the period. */
export async function addArtifacts(
  reading: Reading,
): Promise<{ readonly artifacts: number; readonly attestations: number }> {
  const count = { artifacts: 0, attestations: 0 };
  const documents = createDocuments(reading);
  for await (const rows of keyset(reading, PIECE, artifacts))
    for (const row of rows) {
      const stated = await addAttestations(reading, row.digest);
      const attestations = stated.map(({ listed }) => listed);
      const packageLists = [];
      for (const list of row.packageLists) packageLists.push({ ...list, file: await documents.add(list) });
      reading.archive.add(`artifacts/${row.id}.json`, { ...row, packageLists, attestations });
      count.artifacts += 1;
      count.attestations += stated.filter(({ isNew }) => isNew).length;
    }
  return count;
}

interface ArtifactRow {
  readonly digest: string;
  readonly packageLists: readonly DocumentRef[];
}

interface DocumentRef {
  readonly sha256: string;
}

/** Documents about packages as they came, each once. */
function createDocuments({ db, teamId, archive }: Reading) {
  let left = DOCUMENTS_BYTES_MAX;
  return {
    /** Returns the file that has it, or null where it is not kept or there is no more room. */
    add: async ({ sha256 }: DocumentRef): Promise<string | null> => {
      const paths = [`sboms/${sha256}.json`, `sboms/${sha256}.json.gz`] as const;
      const there = paths.find((path) => archive.has(path));
      if (there !== undefined) return there;
      const [kept] = await db.sql<Array<{ document: Uint8Array }>>`
        select document from sboms where team_id = ${teamId} and sha256 = ${sha256} and octet_length(document) <= ${left}::int`;
      if (kept === undefined) return null;
      left -= kept.document.length;
      const file = isPacked(kept.document) ? paths[1] : paths[0];
      archive.add(file, kept.document);
      return file;
    },
  };
}

async function artifacts({ db, teams, start, until }: Reading, { after, take }: Piece): Rows<ArtifactRow> {
  return await db.sql<Array<ArtifactRow & { id: string }>>`
    select a.id, a.digest, a.kind, a.name, a.uri, a.media_type as "mediaType", a.platform, a.created_at as "createdAt",
      a.sbom_problem as "sbomProblem", (
        select coalesce(jsonb_agg(jsonb_build_object('source', l.source, 'by', l.by, 'sha256', l.sha256, 'packages', p.packages, 'unread', l.unread, 'at', l.at)
          order by l.source <> 'runner', l.at, l.sha256), '[]')
        from artifact_sboms l join package_sets p on p.id = l.package_set_id where l.artifact_id = a.id
      ) as "packageLists", array(
        select jsonb_build_object('origin', x.origin, 'ref', x.ref, 'projectName', x.project_name, 'environmentName', x.environment_name,
          'repository', x.repository, 'branch', x.branch, 'commit', x.commit, 'runnerId', x.runner_id, 'regionId', x.region_id, 'operator', x.operator)
        from artifact_sources x where x.artifact_id = a.id order by ${rankOf(db.sql)}, x.at, x.ref limit ${SOURCES_MAX}::int
      ) as sources
    from artifacts a
    where a.team_id = any(${teams.teamIds}::text[]) and a.id > ${after} and (
      a.created_at >= ${start} and a.created_at < ${until}
      or exists (
        select 1 from deployments d where d.team_id = a.team_id and d.digest = a.digest and d.deployed_at >= ${start} and d.deployed_at < ${until})
      or exists (
        select 1 from release_artifacts x join promotions p on p.team_id = x.team_id and p.release_id = x.release_id
        where x.team_id = a.team_id and x.artifact_id = a.id and p.state = 'deployed' and p.build_id is null and p.ended_at >= ${start} and p.ended_at < ${until})
      or exists (
        select 1 from release_artifacts x join releases r on r.id = x.release_id
        where x.team_id = a.team_id and x.artifact_id = a.id and r.created_at >= ${start} and r.created_at < ${until}))
    order by a.id limit ${take}::int`;
}

interface Bundle {
  readonly id: string;
  readonly predicateType: string;
  readonly source: string;
  /**
   * Bundle; that of an evaluation is in short. It is null where nobody whom the team trusts signed it, so
   * that it is evidence of nothing, and any number of these must not make a package too large.
   */
  readonly bundle: Uint8Array | null;
  readonly sha256: string;
  readonly ledgerSeq: number;
}

/** Adds the bundles about a digest, each once in the package. */
async function addAttestations(reading: Reading, digest: string) {
  const stated = [];
  for await (const rows of keyset(reading, BUNDLES_AT_ONCE, bundlesAbout(digest)))
    for (const { bundle, ...row } of rows) {
      if (bundle === null) {
        stated.push({ isNew: false, listed: { ...row, file: null } });
        continue;
      }
      const file = `attestations/${fileName(bundle, row.sha256)}`;
      const isNew = !reading.archive.has(file);
      if (isNew) reading.archive.add(file, bundle);
      stated.push({ isNew, listed: { ...row, file } });
    }
  return stated;
}

/**
 * Names a bundle by its SHA-256, and one that is packed by the SHA-256 of what it unpacks to, which the
 * ledger has.
 */
function fileName(bundle: Uint8Array, sha256: string): string {
  if (isPacked(bundle)) return `${sha256}.sigstore.json.gz`;
  return `${sha256Of(bundle)}.sigstore.json`;
}

const bundlesAbout =
  (digest: string) =>
  async ({ db, teams }: Reading, { after, take }: Piece): Rows<Bundle> =>
    await db.sql<Bundle[]>`
    select t.id, t.predicate_type as "predicateType", t.source, encode(t.sha256, 'hex') as sha256, t.ledger_seq as "ledgerSeq",
      case when t.source = 'platform' or t.counts_as is not null then coalesce(t.brief, t.bundle) end as bundle
    from attestation_subjects s join attestations t on t.team_id = s.team_id and t.id = s.attestation_id
    where s.team_id = any(${teams.teamIds}::text[]) and s.digest = ${digest} and t.id > ${after} order by t.id limit ${take}::int`;

/** The revisions that could be in force in the period. When each policy was enabled is in the ledger. */
export async function addPolicies(reading: Reading): Promise<number> {
  return await addEach(reading, revisions, ({ id: _place, ...row }) => [
    `policies/${row.policyId}-${row.revision}.json`,
    row,
  ]);
}

interface Revision {
  readonly policyId: string;
  readonly revision: number;
}

async function revisions({ db, teams, start, until }: Reading, { after, take }: Piece): Rows<Revision> {
  return await db.sql<Array<Revision & { id: string }>>`
    select r.policy_id || '-' || lpad(r.revision::text, 10, '0') as id, r.policy_id as "policyId", p.name, p.project_id as "projectId",
      p.environment_id as "environmentId", r.revision, encode(r.sha256, 'hex') as sha256, r.by, r.at, r.document
    from policies p join policy_revisions r on r.team_id = p.team_id and r.policy_id = p.id
    where p.team_id = any(${teams.teamIds}::text[]) and r.at < ${until} and r.policy_id || '-' || lpad(r.revision::text, 10, '0') > ${after}
      and not exists (select 1 from policy_revisions n where n.policy_id = r.policy_id and n.revision = r.revision + 1 and n.at <= ${start})
    order by 1 limit ${take}::int`;
}

/** As they are when the package is assembled; who came and went is in the ledger. */
export async function addMembers(reading: Reading): Promise<number> {
  const all = async function* () {
    for await (const rows of keyset(reading, PIECE, members)) yield* rows;
  };
  return await reading.archive.addList('access/members.json', all());
}

async function members({ db, teams }: Reading, { after, take }: Piece): Rows<object> {
  return await db.sql<Array<{ id: string }>>`
    select m.user_id as id, u.username, m.role, m.joined_at as "joinedAt" from team_members m join users u on u.id = m.user_id
    where m.team_id = any(${teams.teamIds}::text[]) and m.user_id > ${after} order by m.user_id limit ${take}::int`;
}
