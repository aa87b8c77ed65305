/**
 * Reads the stored documents of older versions again: these shared what the first document of a team said of
 * a package among all, and kept one list an artifact. What cannot be read any more stays as it was.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { systemScope } from '../../kit/authorise.ts';
import { addJob, doubling, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { statedAs } from '../attestations/index.ts';
import { passportDue } from './passport-due.ts';
import { keepList } from './sbom/lists.ts';
import { storePackageSet } from './sbom/store.ts';
import type { artifacts, artifactSboms } from './schema.ts';
import { sbomKey, storedDocument, unreadOf, type StoreSbomDeps } from './store-sbom.ts';

const REREAD_JOB = 'artifacts.reread';
const PIECE = 20;

interface Payload extends Readonly<Record<string, unknown>> {
  /** Id of the artifact that was the last. */
  readonly after?: string;
}

export function rereadJob(deps: Omit<StoreSbomDeps, 'signal'>): JobKind<Payload> {
  return {
    kind: REREAD_JOB,
    attempts: 100,
    backoff: doubling(1_000, 600_000),
    concurrency: 1,
    perTeam: 1,
    timeoutMs: 120_000,
    run: async (job, signal) => await reread({ ...deps, signal }, job),
  };
}

async function reread(deps: StoreSbomDeps, { teamId, payload }: Job<Payload>): Promise<void> {
  const { db } = deps;
  const due = await db.sql<Listed[]>`
    select a.id, a.digest, a.created_at as "createdAt", a.sbom_sha256 as "sbomSha256" from artifacts a
    where a.team_id = ${teamId} and a.package_set_id is not null and a.id > ${payload.after ?? ''}
      and not exists (select from artifact_sboms l join package_sets p on p.id = l.package_set_id where l.artifact_id = a.id and p.chars is not null)
    order by a.id limit ${PIECE}::int`;
  for (const artifact of due) {
    for (const list of await listsOf(deps, teamId, artifact)) await readAgain(deps, list);
    await passportDue(db, { id: artifact.id, teamId });
  }
  const after = due.at(-1)?.id;
  if (after === undefined || due.length < PIECE) return;
  await addJob(db, { teamId, kind: REREAD_JOB, lane: `sboms ${teamId}`, payload: { after } });
}

/** `sbomSha256` is as a server of the version before wrote it. */
type Listed = Pick<typeof artifacts.$inferSelect, 'id' | 'digest' | 'createdAt' | 'sbomSha256'>;
type List = Omit<typeof artifactSboms.$inferSelect, 'packageSetId' | 'unread'>;

/**
 * Answers the lists that stand, what runners listed when another list stood already, and what a server of the
 * version before wrote since.
 */
async function listsOf({ db }: StoreSbomDeps, teamId: string, artifact: Listed): Promise<readonly List[]> {
  const { id: artifactId, digest, createdAt, sbomSha256 } = artifact;
  const prefix = sbomKey(digest, '');
  const referred = await statedAs({ db, teams: systemScope(teamId) }, digest, prefix);
  const stored = await db.sql<List[]>`
    select team_id as "teamId", artifact_id as "artifactId", source, sha256, by, at from artifact_sboms
    where team_id = ${teamId} and artifact_id = ${artifactId}`;
  const lists = new Map(stored.map((list) => [list.sha256, list]));
  const about = { teamId, artifactId, by: null };
  for (const { dedupeKey, createdAt: at } of referred) {
    const sha256 = dedupeKey.slice(prefix.length);
    if (!lists.has(sha256)) lists.set(sha256, { ...about, source: 'runner', sha256, at });
  }
  if (sbomSha256 !== null && !lists.has(sbomSha256))
    lists.set(sbomSha256, { ...about, source: 'upload', sha256: sbomSha256, at: createdAt });
  return [...lists.values()];
}

async function readAgain({ db: { sql }, reader, signal }: StoreSbomDeps, list: List): Promise<void> {
  const document = await storedDocument(sql, list.teamId, list.sha256);
  if (document === undefined) return;
  const read = await reader.read(document, signal);
  if ('problem' in read) return;
  const { setId: packageSetId } = await storePackageSet(sql, list.teamId, read.packages);
  await keepList(sql, { ...list, packageSetId, unread: unreadOf(read) });
}
