/**
 * Here the template `package-list` is tested in force: an image is promoted only with a list that leaves
 * nothing out.
 */
import { readFileSync } from 'node:fs';
import type { JsonObject } from '@bufbuild/protobuf';
import { beforeAll, describe, expect, it } from 'vitest';
import { readYamlValue } from '../../../sdk/ci-definitions/index.ts';
import { has } from '../../../test/setup/needs.ts';
import { world } from '../../../test/setup/world.ts';
import type { World } from '../../../test/setup/world.ts';

const postgresHere = await has('postgres');
const template = new URL('../../../docs/policies/package-list.yaml', import.meta.url);
const zlib = { type: 'library', name: 'zlib', version: '1.3.1', purl: 'pkg:deb/debian/zlib@1.3.1' };
const cycloneDx = (more: object): string =>
  Buffer.from(JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', ...more })).toString('base64');
const COMPLETE = cycloneDx({ components: [zlib] });
const PARTIAL = cycloneDx({
  components: [zlib],
  compositions: [{ aggregate: 'incomplete_first_party_only' }],
});
const EMPTY = cycloneDx({ components: [] });

describe.skipIf(!postgresHere)('the template package-list', () => {
  let w: World;
  let environmentId: string;
  let count = 0;

  beforeAll(async () => {
    w = await world();
    environmentId = (await w.sdk.environments.create(w.projectId, { name: 'production' })).id ?? '';
    const document = readYamlValue(readFileSync(template, 'utf8')) as JsonObject;
    const { id } = await w.sdk.policies.create(w.teamId, { name: 'package-list', document });
    await w.sdk.policies.enable(w.teamId, id);
  });

  /** The rules that refuse the approval of an image with these documents. */
  const refusedBy = async (...documents: readonly string[]): Promise<readonly string[]> => {
    const digest = `sha256:${String((count += 1)).padStart(64, 'b')}`;
    const artifact = await w.sdk.artifacts.declare(w.teamId, { name: 'web', kind: 'image', digest });
    for (const document of documents) await w.sdk.artifacts.uploadSbom(w.teamId, digest, { document });
    const asked = { version: `1.${count}`, artifactIds: [artifact.id ?? ''] };
    const release = await w.sdk.releases.create(w.projectId, asked);
    const promotion = await w.sdk.promotions.create(environmentId, release.id ?? '');
    return await w.sdk.promotions.approve(environmentId, promotion.id ?? '').then(
      () => [],
      (error: unknown) => [(error as Error).message],
    );
  };

  it('takes an image with a complete list', async () => {
    expect(await refusedBy(COMPLETE)).toEqual([]);
  });

  it.each<[string, readonly string[], RegExp]>([
    ['without a list', [], /every image needs a list of its packages/],
    ['with a list that has unread parts', [PARTIAL], /may leave nothing out/],
    ['with a document that names no component', [EMPTY], /every image needs a list of its packages/],
    ['with a complete list beside one that has unread parts', [COMPLETE, PARTIAL], /may leave nothing out/],
  ])('refuses an image %s', async (_what, documents, message) => {
    expect(await refusedBy(...documents)).toEqual([expect.stringMatching(message)]);
  });
});
