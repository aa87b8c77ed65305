/**
 * Here the template `package-list` is tested in force: an image is promoted only with a list that leaves
 * nothing out.
 */
import { readFileSync } from 'node:fs';
import type { JsonObject } from '@bufbuild/protobuf';
import { beforeAll, describe, expect, it } from 'vitest';
import { readYamlValue } from '../../../sdk/ci-definitions/index.ts';
import { cycloneDx, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { world, type World } from '../../../test/setup/world.ts';

const template = new URL('../../../docs/policies/package-list.yaml', import.meta.url);
const zlib = { type: 'library', name: 'zlib', version: '1.3.1', purl: 'pkg:deb/debian/zlib@1.3.1' };
const COMPLETE = cycloneDx([zlib]);
const PARTIAL = cycloneDx([zlib], { compositions: [{ aggregate: 'incomplete_first_party_only' }] });
const EMPTY = cycloneDx([]);

describe.skipIf(!(await has('postgres')))('the template package-list', () => {
  let w: World;
  let environmentId: string;
  const { enabled, environment, image, promotion, uploadSbom } = goodsOf(() => w);

  beforeAll(async () => {
    w = await world();
    environmentId = await environment();
    await enabled(readYamlValue(readFileSync(template, 'utf8')) as JsonObject);
  });

  /** The rules that refuse the approval of an image with these documents. */
  const refusedBy = async (...documents: readonly Uint8Array[]): Promise<readonly string[]> => {
    const { id: artifactId } = await image();
    for (const document of documents) await uploadSbom(artifactId, document);
    const { id } = await promotion(environmentId, artifactId);
    return await w.sdk.promotions.approve(environmentId, id).then(
      () => [],
      (error: unknown) => [(error as Error).message],
    );
  };

  it('takes an image with a complete list', async () => {
    expect(await refusedBy(COMPLETE)).toEqual([]);
  });

  it.each<[string, readonly Uint8Array[], RegExp]>([
    ['without a list', [], /every image needs a list of its packages/],
    ['with a list that has unread parts', [PARTIAL], /may leave nothing out/],
    ['with a document that names no component', [EMPTY], /every image needs a list of its packages/],
    ['with a complete list beside one that has unread parts', [COMPLETE, PARTIAL], /may leave nothing out/],
  ])('refuses an image %s', async (_what, documents, message) => {
    expect(await refusedBy(...documents)).toEqual([expect.stringMatching(message)]);
  });
});
