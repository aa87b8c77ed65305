/** These tests show what the answers of impact say of what they do not find. */
import { beforeAll, describe, expect, it } from 'vitest';
import { cycloneDx, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world, type World } from '../../../test/setup/world.ts';

const documentOf = (purls: readonly string[], more: object = {}) =>
  cycloneDx(
    purls.map((purl) => ({ type: 'library', name: 'x', purl })),
    more,
  );

describe.skipIf(!(await has('postgres')))('impact of a package', () => {
  let w: World;
  const { artifact, environment, promotion, uploadSbom } = goodsOf(() => w);
  const declared = async (document?: Buffer): Promise<string> => {
    const { digest } = await artifact();
    if (document !== undefined) await uploadSbom(digest, document);
    return digest;
  };
  const asked = async (packageName: string) => await w.sdk.artifacts.impact(w.teamId, { packageName });

  beforeAll(async () => {
    w = await world();
  });

  it('is found or not while all is known, and is not known where a list lacks something or is not there', async () => {
    const purls = ['pkg:maven/org.springframework/spring-web@6.1.0', 'pkg:composer/guzzlehttp/guzzle@7.8.1'];
    const digest = await declared(documentOf(purls));
    for (const name of ['spring-web', 'org.springframework/spring-web', 'guzzlehttp/guzzle'])
      expect(await asked(name), name).toMatchObject({
        answer: 'hit',
        artifacts: [{ digest, sources: [{ origin: 'declared', ref: w.owner.userId }] }],
        unknown: { environments: 0, withoutList: 0, partlyRead: 0 },
        nearNames: [],
      });
    expect(await asked('spring-wbe')).toMatchObject({
      answer: 'no_hit',
      nearNames: ['org.springframework:spring-web'],
    });
    const { answer, unknown } = await w.sdk.artifacts.impact(w.teamId, {
      digest: `sha256:${'9'.repeat(64)}`,
    });
    expect([answer, unknown]).toEqual(['no_hit', undefined]);

    await declared(documentOf(purls, { compositions: [{ aggregate: 'incomplete' }] }));
    await declared(Buffer.from(documentOf(purls).toString().replace('pkg:', 'purl:').replace('"x"', '""')));
    expect(await asked('jinja2')).toMatchObject({
      answer: 'unknown',
      counts: { artifacts: 0 },
      unknown: { environments: 0, withoutList: 0, partlyRead: 2 },
    });
    const environmentId = await environment();
    const { id } = await promotion(environmentId, await declared());
    await w.sdk.promotions.approve(environmentId, id);
    await w.sdk.promotions.complete(environmentId, id, { status: 'deployed' });
    expect(await asked('jinja2')).toMatchObject({
      answer: 'unknown',
      unknown: { environments: 1, withoutList: 1, partlyRead: 2 },
    });
    expect((await asked('guzzle')).answer).toBe('hit');
    for (const name of ['pkg:npm/', ' / ', '::'])
      expect(await refused(asked(name)), name).toBe('400 validation_failed');
  });

  it('lists artifacts with the sources that each has by itself', async () => {
    const digest = await declared();
    const { id, sources } = await w.sdk.artifacts.get(w.teamId, digest);
    const listed = await w.sdk.artifacts.list(w.teamId);
    expect(listed.find((each) => each.id === id)?.sources).toEqual(sources);
    expect(sources).toHaveLength(1);
  });
});
