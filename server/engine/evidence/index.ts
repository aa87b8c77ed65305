/**
 * A build leaves evidence for those who keep it: facts in the event of its end, and the list of its packages
 * beside it. They stand in the statement that ends it, which is in work/report.ts.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { createHash } from 'node:crypto';
import type { BuildResult } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { environmentsFeature } from '../../apps/environments/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import type { Fragment } from '../../base/sql.ts';

/** The runner says this of the image. */
export interface ImageEvidence {
  /** Base64 of what it is made of, gzipped. */
  readonly sbom?: string | undefined;
  readonly sbomProblem?: string | undefined;
  readonly imageFacts?: ImageFacts | undefined;
}

/** The runner is sure of these facts. */
export interface ImageFacts {
  readonly mediaType?: string | undefined;
  readonly platform?: string | undefined;
  readonly baseImages: ReadonlyArray<{ readonly name: string; readonly digest: string }>;
}

export function imageEvidence({
  sbom,
  sbomProblem,
  mediaType,
  platform,
  baseImages,
}: BuildResult): ImageEvidence {
  return {
    sbom: sbom && Buffer.from(sbom.buffer, sbom.byteOffset, sbom.length).toString('base64'),
    sbomProblem,
    imageFacts: {
      mediaType,
      platform,
      baseImages: baseImages.map(({ name, digest }) => ({ name, digest })),
    },
  };
}

/**
 * Member `build` of the event of the ended item `e` (`id`, `runner_id`, `state`, `finished_at`): of its
 * build, if `from` has it as a row of `builds`, for those who keep evidence of it. When they read the event
 * its environment may be gone, and the build and the item with it. Nothing where it has no image. `deployed`:
 * whether the item deployed it, where no address says so.
 */
export function buildFacts(
  sql: SqlTag,
  { from, deployed }: { readonly from: Fragment; readonly deployed: Fragment },
  { sbom, sbomProblem, imageFacts }: ImageEvidence = {},
): Fragment {
  return sql`coalesce((
    select jsonb_build_object('build', jsonb_build_object(
      'id', s.id, 'number', s.number, 'environmentId', s.environment_id, 'environmentName', v.name, 'projectId', p.id, 'projectName', p.name,
      'trigger', s.trigger, 'rollbackOf', s.rollback_of, 'branch', s.branch, 'commit', s.commit, 'buildType', s.build_type,
      'image', s.image, 'digest', s.digest, 'address', s.address, 'createdBy', s.created_by, 'approvedBy', s.approval_by,
      'deployed', coalesce(s.address, '') <> '' or ${deployed},
      'spec', w.spec - 'sealed', 'claimedAt', w.claimed_at, 'finishedAt', e.finished_at,
      'runner', jsonb_build_object('id', r.id, 'name', r.name, 'version', r.version, 'executor', r.executor, 'isolation', r.isolation, 'inServicePool', o.service_pool),
      'region', jsonb_build_object('id', g.id, 'operator', g.operator),
      'sbomSha256', ${sbom === undefined ? null : sbomDigest(sbom)}::text, 'sbomProblem', ${sbomProblem ?? null}::text,
      'imageFacts', ${sql.json(imageFacts ?? { baseImages: [] })}::jsonb))
    from (${from}) s join environments v on v.id = s.environment_id join projects p on p.id = v.project_id join work_items w on w.id = e.id
      join runners r on r.id = e.runner_id join teams o on o.id = r.team_id join teams t on t.id = w.team_id join regions g on g.id = t.region_id
    where s.digest is not null
  ), '{}'::jsonb)`;
}

const sbomDigest = (sbom: string): string => createHash('sha256').update(sbom, 'base64').digest('hex');

/**
 * Builds the CTE `sbom_kept`. It stores what the image of the ended item is made of, by its digest, so that
 * several builds with equal dependencies keep one. Whoever reads the event reads it.
 */
export function keepSbom(sql: SqlTag, from: string, { sbom }: ImageEvidence): Fragment {
  if (sbom === undefined) return sql``;
  return sql`
    sbom_kept as (
      insert into sboms (team_id, sha256, document, created_at)
      select e.team_id, ${sbomDigest(sbom)}, decode(${sbom}::text, 'base64'), clock_timestamp() from ${sql(from)} e
      on conflict do nothing
    ),`;
}

export const evidenceFeature = declareFeature({
  name: 'evidence',
  on: { environments: environmentsFeature },
  reads: ['sboms'],
  writes: ['sboms'],
  start: () => ({}),
});
