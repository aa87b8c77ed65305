/** What is said to run, over the real doors, whatever way it came. */
import type { RunningImage } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IMAGE, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { BUILT, COMMIT, CONTAINER, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { refused } from '../../../test/setup/refused.ts';

const URL = 'http://10.0.0.7:32768';

describe.skipIf(!(await has('postgres')))('what runs in the environments of a project', () => {
  let w: World;
  let { sdk, teamId, projectId } = {} as World;
  let environmentId: string;
  let runner: ScriptedRunner;

  const goods = goodsOf(() => ({ sdk, teamId, projectId }));
  const { environment, fresh, freshDigest, release } = goods;
  const image = async () => await goods.image({ commit: COMMIT });
  /** Asked for and approved. */
  const promoted = async (releaseId: string) => {
    const { id } = await sdk.promotions.create(environmentId, releaseId);
    return await sdk.promotions.approve(environmentId, id);
  };
  const finish = async (build?: object): Promise<string> => {
    const offer = await runner.take();
    await runner.finish(offer, { ...build });
    return offer.id;
  };
  /** Once events have told of this build. */
  const runsBy = async (buildId: string): Promise<RunningImage | undefined> =>
    (
      await waitFor('what runs', async () => await sdk.promotions.running(projectId), {
        holds: (all) => all.some((each) => each.image?.buildId === buildId),
      })
    ).find((each) => each.environmentId === environmentId);
  const directly = async (digest: string): Promise<RunningImage | undefined> => {
    await sdk.builds.create(environmentId);
    return await runsBy(await finish({ ...BUILT, digest }));
  };

  beforeAll(async () => {
    w = await world();
    ({ sdk, teamId } = w);
    runner = await w.runner();
  });
  beforeEach(async () => {
    projectId = (await sdk.projects.create({ name: fresh('p'), teamId })).id;
    environmentId = await environment({ name: 'production', deploy: CONTAINER });
  });

  it('is what was promoted, then what was deployed directly, then what was rolled back to', async () => {
    expect(await sdk.promotions.running(projectId)).toEqual([]);
    const first = await image();
    const brought = await release(first.id);
    const { id: promotionId, buildId = '' } = await promoted(brought.id);
    await finish();
    expect(await runsBy(buildId)).toEqual({
      environmentId,
      environmentName: 'production',
      how: 'promotion',
      image: {
        releaseId: brought.id,
        version: brought.version,
        promotionId,
        buildId,
        artifactId: first.id,
        name: IMAGE,
        digest: first.digest,
        commit: COMMIT,
        url: URL,
        since: expect.stringMatching(/^\d{4}-/),
      },
    });

    const digest = freshDigest();
    const direct = await directly(digest);
    expect(direct).toMatchObject({ how: 'direct', image: { digest, url: URL } });
    expect([direct?.image?.releaseId, direct?.image?.version, direct?.image?.promotionId]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);

    // The newest release of the project that holds the image names what is not promoted.
    const again = await release(first.id);
    const other = await sdk.projects.create({ name: fresh('other'), teamId });
    await sdk.releases.create(other.id, { version: '1', artifactIds: [first.id] });
    const back = await sdk.builds.rollback(environmentId, buildId);
    await finish();
    const rolledBack = await runsBy(back.id);
    expect(rolledBack).toMatchObject({
      how: 'rollback',
      image: { releaseId: again.id, version: again.version, digest: first.digest, commit: COMMIT },
    });
    expect(rolledBack?.image?.promotionId).toBeUndefined();
  });

  it('names the release that is made of it afterwards', async () => {
    const digest = freshDigest();
    await directly(digest);
    const artifact = await waitFor('the artifact', async () => await sdk.artifacts.get(teamId, digest));
    const { id: releaseId, version } = await release(artifact.id);
    expect(await sdk.promotions.running(projectId)).toMatchObject([
      { how: 'direct', image: { releaseId, version, artifactId: artifact.id, digest, commit: COMMIT } },
    ]);
  });

  it('is what somebody deployed elsewhere, for as long as nothing was deployed later', async () => {
    await directly(freshDigest());
    await sdk.environments.update(environmentId, { deploy: { kind: 'none' } });
    const first = await image();
    const { id: promotionId, releaseId } = await promoted((await release(first.id)).id);
    expect(await sdk.promotions.running(projectId)).toMatchObject([{ how: 'direct' }]);
    const url = 'https://shop.example.com';
    await sdk.promotions.complete(environmentId, promotionId, { status: 'deployed', url });
    const [elsewhere] = await sdk.promotions.running(projectId);
    expect(elsewhere).toMatchObject({
      how: 'elsewhere',
      image: { releaseId, promotionId, artifactId: first.id, digest: first.digest, commit: COMMIT, url },
    });
    expect(elsewhere?.image?.buildId).toBeUndefined();
    await sdk.environments.update(environmentId, { deploy: CONTAINER });
    expect(await directly(freshDigest())).toMatchObject({ how: 'direct' });
  });

  it('is known of a release with several images only where one was chosen', async () => {
    await sdk.environments.update(environmentId, { deploy: { kind: 'none' } });
    const [one, two] = [await image(), await image()];
    const { id: releaseId } = await release(one.id, two.id);
    const completed = async (more: object) => {
      const { id } = await sdk.promotions.create(environmentId, releaseId, more);
      await sdk.promotions.approve(environmentId, id);
      await sdk.promotions.complete(environmentId, id, { status: 'deployed' });
      const [runs] = await sdk.promotions.running(projectId);
      expect(runs).toMatchObject({ how: 'elsewhere', image: { releaseId, promotionId: id } });
      return runs?.image?.digest;
    };
    expect(await completed({})).toBeUndefined();
    expect(await completed({ artifactId: two.id })).toBe(two.digest);
  });

  it('is of the environments that there are, by their names, and of the team alone', async () => {
    const { digest } = await image();
    const production = environmentId;
    await directly(digest);
    environmentId = await environment({ name: 'canary', deploy: CONTAINER });
    await directly(digest);
    const listed = async () =>
      (await sdk.promotions.running(projectId)).map(({ environmentName }) => environmentName);
    expect(await listed()).toEqual(['canary', 'production']);
    await sdk.environments.delete(production);
    expect(await listed()).toEqual(['canary']);
    const { sdk: theirs } = await w.stranger();
    expect(await refused(theirs.promotions.running(projectId))).toBe('404 not_found');
  });
});
