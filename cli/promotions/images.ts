/** The image that a promotion brings, and the one that its environment runs now. */
import { Artifacts, Builds, Promotions, Releases } from '@svc/sdk';
import type { Artifact, Client, Promotion } from '@svc/sdk';

/** Builds and promotions that are looked through, the newest ones: one page. */
const PAGE = 200;
/** Images of builds, and as many of promotions, that are asked after: the newest is nearly always the one that runs. */
const CANDIDATES_MAX = 3;

export interface Image {
  /** Release that it came with; absent if it came with none. */
  readonly version?: string;
  readonly artifact?: Artifact;
}

export interface Asking {
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** The artifact is absent where the release has no image, or several of which none was chosen. */
export async function broughtBy({ client, signal }: Asking, promotion: Promotion): Promise<Image> {
  const { teamId, projectId, releaseId, artifactId, version } = promotion;
  const { artifacts } = await new Releases(client).get(projectId, releaseId, { signal });
  const images = artifacts.filter(({ kind, id }) =>
    artifactId === undefined ? kind === 'image' : id === artifactId,
  );
  const [image] = images;
  if (image === undefined || images.length > 1) return { version };
  return { version, artifact: await new Artifacts(client).get(teamId, image.id, { signal }) };
}

/** What the service deployed there last; else what somebody completed last that was deployed elsewhere. */
export async function runningAt(
  asking: Asking,
  { teamId, environmentId }: Promotion,
): Promise<Image | undefined> {
  const { client, signal } = asking;
  const promotions = new Promotions(client);
  const artifacts = new Artifacts(client);
  const page = await promotions.listPage(environmentId, { limit: PAGE }, { signal });
  const deployed = page.promotions.filter(({ state }) => state === 'deployed').sort(byEnd);
  const digests = new Set([
    ...(await builtAndDeployed(asking, environmentId)).slice(0, CANDIDATES_MAX),
    ...deployed.flatMap(({ digest }) => digest ?? []).slice(0, CANDIDATES_MAX),
  ]);
  for (const digest of digests) {
    const { environments } = await artifacts.impact(teamId, { digest }, { signal });
    const current = environments.find((each) => each.environmentId === environmentId);
    if (current === undefined) continue;
    const artifact = await artifacts.get(teamId, digest, { signal });
    if (current.promotionId === undefined) return { artifact };
    const { version } = await promotions.get(environmentId, current.promotionId, { signal });
    return { version, artifact };
  }
  const elsewhere = deployed.find(({ buildId }) => buildId === undefined);
  return elsewhere === undefined ? undefined : await broughtBy(asking, elsewhere);
}

/** The last one first: promotions end in another order than they begin. */
const byEnd = (a: Promotion, b: Promotion): number =>
  Date.parse(b.endedAt ?? b.createdAt) - Date.parse(a.endedAt ?? a.createdAt);

/** Digests, of the newest build first. */
async function builtAndDeployed(
  { client, signal }: Asking,
  environmentId: string,
): Promise<readonly string[]> {
  const { builds } = await new Builds(client).listPage(environmentId, { limit: PAGE }, { signal });
  const digests = builds.flatMap(({ state, digest, phases }) =>
    state === 'succeeded' && digest !== undefined && phases.some(({ phase }) => phase === 'deploying')
      ? [digest]
      : [],
  );
  return [...new Set(digests)];
}

/** `1.4.0, commit 3f2a9c1d5e7b` */
export function describeImage({ version, artifact }: Image): string {
  const commit = artifact?.sources.find((source) => source.commit !== undefined)?.commit;
  return [
    version ?? artifact?.digest ?? 'no release',
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 12)}`]),
  ].join(', ');
}
