/**
 * A passport is everything that is known of an artifact, in one signed document. Each artifact has one job,
 * two seconds after the last event about it, so that a burst of events makes one. What has not changed makes
 * no new one.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import canonicalize from 'canonicalize';
import type { Clock } from '../../base/clock.ts';
import type { EventEffect } from '../../kit/feature.ts';
import { doubling, keyedJobsAdded, type JobKind } from '../../kit/jobs/index.ts';
import type { Who } from '../../kit/resource/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import { signStatement, type AttestDeps, type TrustRoot } from '../attestations/index.ts';
import {
  AFTER_MS,
  artifactFacts,
  PASSPORT_JOB,
  rankOf,
  type About,
  type ArtifactFacts,
  type artifactPassports,
} from '../artifacts/index.ts';
import { deploymentsOfArtifact } from '../promotions/index.ts';

const SHOWN_MAX = 100;

export interface PassportDeps extends AttestDeps {
  readonly clock: Clock;
  readonly typeBase: string;
  readonly root: TrustRoot | undefined;
}

export function passportJob(deps: PassportDeps): JobKind<{ artifactId: string }> {
  return {
    kind: PASSPORT_JOB,
    attempts: 100,
    backoff: doubling(2_000, 600_000),
    concurrency: 2,
    perTeam: 1,
    timeoutMs: 30_000,
    run: async ({ teamId, payload: { artifactId } }) => await makePassport(deps, { teamId, id: artifactId }),
  };
}

async function makePassport(deps: PassportDeps, { teamId, id }: About): Promise<void> {
  const { db, signer, clock, typeBase, root } = deps;
  const who = { db, clock, root, teams: systemScope(teamId) };
  const [facts] = await artifactFacts(who, teamId, [id]);
  if (facts === undefined) return;
  const document = { ...(await gathered(who, { teamId, id }, facts)), gaps: gapsOf(facts) };
  const last = await lastOf(who, id);
  if (last !== undefined && canonicalize(last.document) === canonicalize(document)) return;
  const revision = (last?.revision ?? 0) + 1;
  const bundle = await signStatement(signer, 'platform', {
    predicateType: `${typeBase}/passport/v1`,
    subjects: [{ name: facts.name, digest: facts.digest }],
    predicate: { revision, ...document },
  });
  await db.sql`
    insert into artifact_passports (team_id, artifact_id, revision, document, bundle, created_at)
    values (${teamId}, ${id}, ${revision}, ${db.sql.json(document)}, ${bundle}, ${clock.now()})
    on conflict do nothing`;
}

/** These parts of the document are read from tables, oldest first. */
async function gathered({ db: { sql }, teams }: Who, { teamId, id }: About, facts: ArtifactFacts) {
  const { digest, kind, name, attestations, evaluations, sbom } = facts;
  const ours = sql`x.team_id = ${teamId} and x.team_id = any(${teams.teamIds}::text[])`;
  const holding = sql`(select r.release_id from release_artifacts r where r.team_id = ${teamId} and r.artifact_id = ${id})`;
  type Part = ReadonlyArray<Readonly<Record<string, string | null>>>;
  const [tables] = await sql<Array<{ sources: Part; releases: Part; promotions: Part; deployments: Part }>>`
    select
      (select coalesce(json_agg(json_build_object('origin', x.origin, 'ref', x.ref, 'repository', x.repository, 'commit', x.commit, 'runnerId', x.runner_id, 'regionId', x.region_id) order by x.at, x.ref), '[]')
        from (select * from artifact_sources x where ${ours} and x.artifact_id = ${id} order by ${rankOf(sql)}, x.at, x.ref limit ${SHOWN_MAX}::int) x) as sources,
      (select coalesce(json_agg(json_build_object('id', x.id, 'version', x.version) order by x.id), '[]')
        from (select * from releases x where ${ours} and x.id in ${holding} order by x.id limit ${SHOWN_MAX}::int) x) as releases,
      (select coalesce(json_agg(json_build_object('id', x.id, 'environment', x.environment_name, 'state', x.state) order by x.id), '[]')
        from (select * from promotions x where ${ours} and x.release_id in ${holding} order by x.id limit ${SHOWN_MAX}::int) x) as promotions,
      (select coalesce(json_agg(json_build_object('id', x.id, 'environment', x.environment_name, 'how', x.how, 'regionId', x.region_id) order by x.id), '[]')
        from (select * from (${deploymentsOfArtifact(sql, { teamId, id, digest })}) x where ${ours} order by x.id limit ${SHOWN_MAX}::int) x) as deployments`;
  const latest = new Map(
    evaluations
      .toSorted((a, b) => (a.evaluatedAt < b.evaluatedAt ? -1 : 1))
      .map((each) => [each.suiteId, each]),
  );
  return {
    artifact: { id, digest, kind, name },
    sbom,
    attestations,
    evaluations: [...latest.values()],
    ...tables,
  };
}

function gapsOf({ origin, attestations, sbom }: ArtifactFacts): readonly string[] {
  const hasProvenance = attestations.some(({ verified, builderId }) => verified && builderId !== '');
  return [
    ...(origin === 'build' ? [] : ['no build of the platform made it']),
    ...(hasProvenance ? [] : ['it has no provenance that verifies']),
    ...(sbom.present ? [] : ['it is not known what it is made of']),
    ...sbom.unread.map((part) => `not read: ${part}`),
  ];
}

/** It is undefined where none was made yet. */
async function lastOf({ db: { sql }, teams }: Who, id: string) {
  const [row] = await sql<Array<Pick<typeof artifactPassports.$inferSelect, 'revision' | 'document'>>>`
    select revision, document from artifact_passports
    where artifact_id = ${id} and team_id = any(${teams.teamIds}::text[]) order by revision desc limit 1`;
  return row;
}

/**
 * The CTE `passports_due` adds jobs by the events of the CTE `published` that change something about the
 * artifacts of releases.
 */
export const passportsDue: EventEffect = (sql) => sql`
  passports_due as (${keyedJobsAdded(
    sql,
    { kind: PASSPORT_JOB, inMs: AFTER_MS },
    sql`
      select distinct r.team_id, r.artifact_id as key, 'passport ' || r.artifact_id as lane, jsonb_build_object('artifactId', r.artifact_id) as payload
      from published e join release_artifacts r on r.team_id = e.team_id and r.release_id = e.payload ->> 'releaseId'
      where e.kind = 'release.created' or e.kind like 'promotion.%'`,
  )})`;
