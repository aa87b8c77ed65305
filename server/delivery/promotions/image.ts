/** Finds out which image of a release a promotion deploys. */
import { builtFrom, imageOf, type Artifact } from '../artifacts/index.ts';
import type { Environment } from '../../apps/environments/index.ts';
import type { DeployImage, ImageDeploy, Override, Promoted } from '../../engine/builds/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Promotion } from './store.ts';

export type HeldFor = NonNullable<Promotion['held']>;
/** The columns that are read of an artifact before it is deployed. */
export type Candidate = Pick<Artifact, 'id' | 'kind' | 'name' | 'uri' | 'digest'>;

/** The image that was asked for, or the only one. Undefined: there is none, or there are several. */
export function imageAsked<A extends Candidate>(
  { artifactId }: Pick<Promotion, 'artifactId'>,
  artifacts: readonly A[],
): A | undefined {
  const images = artifacts.filter(({ kind }) => kind === 'image');
  return artifactId === null && images.length === 1 ? images[0] : images.find(({ id }) => id === artifactId);
}

/** The artifact that is deployed, or why none is. */
export function choose<A extends Candidate>(
  promotion: Pick<Promotion, 'artifactId'>,
  artifacts: readonly A[],
): { readonly artifact: A; readonly image: string } | { readonly held: HeldFor } {
  if (!artifacts.some(({ kind }) => kind === 'image')) return { held: 'external' };
  const artifact = imageAsked(promotion, artifacts);
  const image = artifact && imageOf(artifact);
  return artifact === undefined || image === undefined ? { held: 'ambiguous_image' } : { artifact, image };
}

interface Promoting {
  readonly environment: Environment;
  readonly promotion: Pick<Promotion, 'artifactId'>;
  readonly artifacts: readonly Artifact[];
}

/** What the build of a promotion deploys, or why there is none. */
export async function deployOf(
  { db }: Pick<Ctx, 'db'>,
  { environment, promotion, artifacts }: Promoting,
): Promise<{ readonly held: HeldFor } | Pick<ImageDeploy, 'deploy' | 'of'>> {
  const { deploy, buildType } = environment;
  const chosen = choose(promotion, artifacts);
  if (deploy === null) return { held: 'no_deploy_target' };
  if ('held' in chosen) return { held: chosen.held };
  const { image, artifact } = chosen;
  const { digest } = artifact;
  const source = await builtFrom(db, artifact);
  return {
    deploy,
    of: { image, digest, branch: source?.branch ?? '', commit: source?.commit ?? null, buildType, tag: null },
  };
}

export interface Deploying extends Promoting {
  readonly promoted: Promoted;
  readonly override: Override | undefined;
}

/** Makes the build, or says why it does not: the columns that the promotion gets. */
export async function deployWhatIsPromoted(
  deployImage: DeployImage,
  tx: Ctx,
  { promoted, override, ...promoting }: Deploying,
): Promise<Partial<Pick<Promotion, 'held' | 'buildId' | 'digest' | 'overrideReason'>>> {
  const deploying = await deployOf(tx, promoting);
  if ('held' in deploying) return deploying;
  const { id, isOverridden } = await deployImage(tx, {
    ...deploying,
    environment: promoting.environment,
    trigger: 'promotion',
    rollbackOf: null,
    // The promotion's approvals are those of its deploy.
    approval: 'none',
    promoted,
    override,
  });
  const { digest } = deploying.of;
  return { buildId: id, digest, ...(isOverridden && override && { overrideReason: override.reason }) };
}
