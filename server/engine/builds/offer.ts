/**
 * The offer of a build, put together when it is granted: what was stored with it, and where its image goes
 * today.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import {
  BuildOfferSchema,
  type BuildOffer,
  type ImageTarget,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { addedBy, appOnHost, type HostPart } from '../../apps/hosting/index.ts';
import { shown, type Row } from '../../kit/resource/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { CannotBegin, tagOf, type Grant } from '../work/index.ts';
import type { ActsDeps } from './acts.ts';
import {
  withLocalRegistry,
  type ImageTargets,
  type LeaseCredential,
  type LocalTarget,
} from '../registries/index.ts';
import { BUILD_LIMITS, openBuildInput, type BuildSpec } from './spec.ts';

/** What features add to an app; which database build steps have is among it. */
type Added = object & Pick<Row<BuildOffer>, 'testDatabase'>;

export interface OfferDeps extends Pick<ActsDeps, 'missingRegistry'> {
  readonly sql: SqlTag;
  readonly secrets: Pick<Secrets, 'open'>;
  /** What features add to an app; asked when all have started. */
  hostParts(): readonly HostPart[];
  readonly targets: ImageTargets;
  /** Host and port of the service's local registry. */
  readonly localRegistry: string;
  readonly leaseCredential: LeaseCredential;
  /** Builder image of buildpack builds, with its digest; empty: the runner's own pinned one. */
  readonly builderImage: string;
}

export function createBuildOffers({
  sql,
  secrets,
  targets,
  builderImage,
  missingRegistry,
  hostParts,
  ...local
}: OfferDeps) {
  const { targetFor, holderOf } = withLocalRegistry(targets, local);
  return async (grant: Grant, offerMs: number): Promise<BuildOffer> => {
    const { workId: id, leaseId, epoch, attempt } = grant;
    // Written by submission alone, from a BuildSpec.
    const spec = grant.spec as unknown as BuildSpec;
    const [owner] = await sql<
      Array<{ teamId: string; environmentId: string; inServicePool: boolean; added: Added | null }>
    >`
      select b.team_id as "teamId", b.environment_id as "environmentId", p.service_pool as "inServicePool",
        (select ${addedBy(sql, hostParts())} from host_apps h where h.environment_id = b.environment_id) as added
      from work_items w join builds b on b.id = w.build_id join runners r on r.id = w.runner_id join teams p on p.id = r.team_id
      where w.id = ${id}`;
    if (owner === undefined || spec.sealed === undefined)
      throw new Error(`build item ${id} is gone or has ended`);
    const { variables, secrets: held, steps, git } = openBuildInput(secrets, id, spec.sealed);
    const { source, deploy, deployImage } = spec;
    // It had one when it was submitted.
    const missing = deployImage === undefined ? await missingRegistry(owner.teamId) : undefined;
    if (missing !== undefined) throw new CannotBegin(missing);
    // Credentials go to the registry that they belong to, and to no other.
    const target =
      deployImage === undefined
        ? await targetFor(owner.teamId, { id: owner.environmentId }, grant)
        : await holderOf(owner.teamId, deployImage, grant);
    const image = target === undefined ? undefined : imageTarget(spec, target, owner.inServicePool);
    const { teamId, environmentId, inServicePool } = owner;
    return shown(BuildOfferSchema, {
      id,
      leaseId,
      epoch,
      leaseMs: offerMs,
      attempt,
      source: source && { ...source, ...git },
      buildType: spec.buildType,
      variables,
      secrets: held,
      steps,
      image,
      deploy: deploy && {
        ...deploy,
        ...owner.added,
        app: appOnHost(deploy.app, teamId, inServicePool),
        environmentId,
      },
      deployImage,
      limits: { ...BUILD_LIMITS, timeoutSeconds: spec.timeoutSeconds },
      builderImage,
      teamId,
      shared: inServicePool,
      testDatabase: owner.added?.testDatabase,
    });
  };
}

function imageTarget(
  { source, number, repository, deployImage }: BuildSpec,
  { host, namespace, username, password, insecure, local: isLocal }: LocalTarget,
  inServicePool: boolean,
): Row<ImageTarget> {
  const local = isLocal === true;
  // In the pool the machine is shared: nothing may go where everybody reads it.
  const guarded = inServicePool && local;
  const registry = { host, namespace, username, password, insecure, local, guarded };
  if (deployImage !== undefined) return { ...registry, repository: '', tag: '', commitInTag: false };
  const tag = tagOf(number, source?.commit);
  return { ...registry, repository, tag, commitInTag: source?.commit === undefined };
}
