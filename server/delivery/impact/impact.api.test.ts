/** These tests show what the answers of impact say of what they do not find. */
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world } from '../../../test/setup/world.ts';
import type { World } from '../../../test/setup/world.ts';

const postgresHere = await has('postgres');

const cycloneDx = (purls: readonly string[], more: object = {}) =>
  Buffer.from(
    JSON.stringify({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      components: purls.map((purl) => ({ type: 'library', name: 'x', purl })),
      ...more,
    }),
  );

describe.skipIf(!postgresHere)('impact of a package', () => {
  let w: World;
  let digests = 0;
  const declared = async (document?: Buffer): Promise<string> => {
    const digest = `sha256:${String((digests += 1)).padStart(64, 'f')}`;
    const artifact = { name: `a${digests}`, kind: 'file', digest } as const;
    await w.sdk.artifacts.declare(w.teamId, artifact);
    if (document !== undefined)
      await w.sdk.artifacts.uploadSbom(w.teamId, digest, { document: document.toString('base64') });
    return digest;
  };
  const asked = async (packageName: string) => await w.sdk.artifacts.impact(w.teamId, { packageName });

  beforeAll(async () => {
    w = await world();
  });

  it('is found or not while all is known, and is not known where a list lacks something or is not there', async () => {
    const purls = ['pkg:maven/org.springframework/spring-web@6.1.0', 'pkg:composer/guzzlehttp/guzzle@7.8.1'];
    const digest = await declared(cycloneDx(purls));
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

    await declared(cycloneDx(purls, { compositions: [{ aggregate: 'incomplete' }] }));
    await declared(Buffer.from(cycloneDx(purls).toString().replace('pkg:', 'purl:').replace('"x"', '""')));
    expect(await asked('jinja2')).toMatchObject({
      answer: 'unknown',
      counts: { artifacts: 0 },
      unknown: { environments: 0, withoutList: 0, partlyRead: 2 },
    });
    const bare = await declared();
    const { id: environmentId } = await w.sdk.environments.create(w.projectId, { name: 'production' });
    const { id } = await w.sdk.artifacts.get(w.teamId, bare);
    const release = await w.sdk.releases.create(w.projectId, { version: '1', artifactIds: [id] });
    const promotion = await w.sdk.promotions.create(environmentId, release.id);
    await w.sdk.promotions.approve(environmentId, promotion.id);
    await w.sdk.promotions.complete(environmentId, promotion.id, { status: 'deployed' });
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
