/**
 * Images of builds: the event of each build that published one, also of one whose end was a late word,
 * becomes an artifact with its provenance. All that is needed stands in the event, because the environment,
 * and the build with it, may be gone by then.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { EventEffect } from '../../kit/feature.ts';
import { jobsAdded, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { attest, EVIDENCE_JOB, PROVENANCE_TYPE, type AttestDeps } from '../attestations/index.ts';
import { passportDue } from './passport-due.ts';
import { provenanceOf, SBOM_MEDIA_TYPE, type BuildFacts } from './provenance.ts';
import { recordArtifact } from './record.ts';
import { sbomKey, storeSbom } from './store-sbom.ts';
import type { SbomReader } from './sbom/sbom-reader.ts';

const CATALOGUE_JOB = 'artifacts.catalogue';
const REFERENCE_TYPE = 'https://in-toto.io/attestation/reference/v0.1';
const NO_SBOM = 'its runner reported no list of packages';

/**
 * The CTE `catalogued` adds a job for each event of the CTE `published` of a build that published an image.
 */
export const catalogued: EventEffect = (sql) => sql`
  catalogued as (${jobsAdded(
    sql,
    CATALOGUE_JOB,
    sql`
      select e.team_id, 'build ' || (e.payload -> 'build' ->> 'id') as lane, e.payload as payload from published e
      where e.kind in ('work.finished', 'build.reported_late') and e.payload -> 'build' -> 'spec' -> 'publishes' = 'true'`,
  )})`;

export interface CatalogueDeps extends AttestDeps {
  /** Beginning of the types of statements that are ours. */
  readonly typeBase: string;
  readonly reader: SbomReader;
  publicUrl(): string;
}

export const catalogueJob = (deps: CatalogueDeps): JobKind => ({
  ...EVIDENCE_JOB,
  kind: CATALOGUE_JOB,
  run: async (job, signal) => await catalogue(deps, job, signal),
});

async function catalogue(deps: CatalogueDeps, { teamId, payload }: Job, signal: AbortSignal): Promise<void> {
  const facts = payload as unknown as BuildFacts; // Written by the statement that ended the build alone.
  const { build } = facts;
  const { id: ref, digest, image: name, branch, commit, region, runner } = build;
  const { projectId, projectName, environmentId, environmentName } = build;
  const where = { projectId, projectName, environmentId, environmentName };
  const repository = build.spec.source?.repository;
  const source = { repository, branch: branch === '' ? null : branch, commit };
  const seen = { runnerId: runner.id, regionId: region.id, operator: region.operator };
  const { mediaType, platform } = build.imageFacts;
  const at = new Date(build.finishedAt);
  const { id } = await recordArtifact(
    deps.db,
    { teamId, digest, kind: 'image', name, uri: `${name}@${digest}`, mediaType, platform },
    { origin: 'build', ref, ...where, ...source, ...seen, at },
  );
  const { sbomSha256: sha256, sbomProblem: problem } = build;
  await storeSbom(
    { ...deps, signal },
    { teamId, id, runnerId: runner.id, at },
    sha256 === null ? { problem: problem ?? NO_SBOM } : { sha256 },
  );
  if (sha256 !== null) {
    const downloadLocation = `${deps.publicUrl()}/teams/${teamId}/artifacts/${id}/sbom?sha256=${sha256}`;
    await attest(deps, {
      teamId,
      purpose: 'platform',
      dedupeKey: sbomKey(digest, sha256),
      at,
      predicateType: REFERENCE_TYPE,
      subjects: [{ name, digest }],
      predicate: {
        attester: { id: `${deps.typeBase}/attester/v1` },
        references: [{ downloadLocation, digest: { sha256 }, mediaType: SBOM_MEDIA_TYPE }],
      },
    });
  }
  await attest(deps, {
    teamId,
    purpose: runner.inServicePool ? 'build_service' : 'build_customer',
    dedupeKey: `provenance:${facts.workId}:${facts.epoch}`,
    at,
    predicateType: PROVENANCE_TYPE,
    subjects: [{ name, digest }],
    predicate: provenanceOf(deps.typeBase, teamId, facts),
  });
  await passportDue(deps.db, { id, teamId });
}
