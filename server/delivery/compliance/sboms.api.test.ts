/**
 * Documents about packages in a compliance package are byte for byte as they came, under the SHA-256 that the
 * signed statement about the artifact names.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { goodsOf } from '../../../test/setup/delivery/goods.ts';
import { packageOf } from '../../../test/setup/delivery/packages.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

const REFERENCE = 'https://in-toto.io/attestation/reference/v0.1';
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** As people write it, which no writer of JSON gives back; `about` makes it another one. */
const cycloneDx = (about: string): Buffer =>
  Buffer.from(`{ "specVersion" : "1.6", "bomFormat": "CycloneDX",
  "components": [ {"name":"${about}\\u002d1","type":"library","version":"1.0","purl":"pkg:npm/${about}-1@1.0"} ]\r\n}\n`);

interface Artifact {
  readonly packageLists: ReadonlyArray<{
    readonly source: string;
    readonly sha256: string;
    readonly file: string;
  }>;
  readonly attestations: ReadonlyArray<{ readonly predicateType: string; readonly file: string }>;
}

describe.skipIf(!(await has('postgres')))('documents about packages in a compliance package', () => {
  let w: World;
  let runner: ScriptedRunner;
  let folder: string;
  const goods = goodsOf(() => w);

  beforeAll(async () => {
    w = await world();
    runner = await w.runner();
    folder = mkdtempSync(join(tmpdir(), 'svc-sboms-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** It is the id of an image that the runner of a build listed with this document. */
  const built = async (sbom: Buffer): Promise<string> => {
    const digest = goods.freshDigest();
    const environmentId = await goods.environment();
    await goods.built(runner, environmentId, { digest, sbom: sbom.toString('base64') });
    await waitFor(
      `the statements about ${digest}`,
      async () => await w.sdk.artifacts.attestations(w.teamId, digest),
      { holds: (all) => all.some(({ predicateType }) => predicateType === REFERENCE) },
    );
    return (await w.sdk.artifacts.get(w.teamId, digest)).id;
  };
  const unpacked = async (start: string): Promise<void> => {
    const input = await packageOf(w, [start, new Date(Date.now() + 1).toISOString()]);
    execFileSync('tar', ['-xf', '-', '-C', folder], { input });
  };
  const json = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'));
  /** Returns the digests that the signed statements about an artifact refer to. */
  const referredTo = ({ attestations }: Artifact): readonly string[] =>
    attestations
      .filter(({ predicateType }) => predicateType === REFERENCE)
      .flatMap(({ file }) => {
        const { dsseEnvelope } = json(file) as { dsseEnvelope: { payload: string } };
        const { predicate } = JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString()) as {
          predicate: { references: ReadonlyArray<{ digest: { sha256: string } }> };
        };
        return predicate.references.map(({ digest }) => digest.sha256);
      });

  it('are the bytes that runners and people brought, plain and packed', async () => {
    const start = new Date().toISOString();
    const plain = cycloneDx('plain');
    const packed = gzipSync(cycloneDx('packed'), { level: 1 });
    const brought = gzipSync(cycloneDx('brought'), { level: 9 });
    const images = [
      { id: await built(plain), document: plain, file: `sboms/${sha256Of(plain)}.json` },
      { id: await built(packed), document: packed, file: `sboms/${sha256Of(packed)}.json.gz` },
    ];
    const [first] = images;
    await goods.uploadSbom(first?.id ?? '', brought);
    await unpacked(start);
    for (const { id, document, file } of images) {
      const artifact = json(`artifacts/${id}.json`) as Artifact;
      expect(artifact.packageLists[0]).toMatchObject({ source: 'runner', sha256: sha256Of(document), file });
      expect(readFileSync(join(folder, file)).equals(document), file).toBe(true);
      expect(referredTo(artifact)).toEqual([sha256Of(readFileSync(join(folder, file)))]);
    }
    const upload = (json(`artifacts/${first?.id}.json`) as Artifact).packageLists[1];
    expect(upload).toMatchObject({ source: 'upload', sha256: sha256Of(brought) });
    expect(readFileSync(join(folder, upload?.file ?? '')).equals(brought)).toBe(true);
    expect(readdirSync(join(folder, 'sboms'))).toHaveLength(3);
  });
});
