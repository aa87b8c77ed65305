/**
 * Documents and statements that people bring: byte for byte as they came, at everything that they are about,
 * also where they are long.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { cycloneDx, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { bundled, enveloped, signingPair } from '../../../test/setup/delivery/statements.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { PAYLOAD_TYPE } from '../attestations/envelope.ts';

const CYCLONEDX = 'https://cyclonedx.org/bom';
const { privateKey, pem } = signingPair();

describe.skipIf(!(await has('postgres')))('what is brought about artifacts', () => {
  let w: World;
  const { artifact, freshDigest, uploadSbom } = goodsOf(() => w);
  const declare = async (digest = freshDigest()): Promise<string> => (await artifact({ digest })).digest;
  const statement = (about: readonly string[], { type = 'https://x.example/scan/v1', predicate = {} }) => {
    const subject = about.map((digest, at) => ({ name: `s${at}`, digest: { sha256: digest.slice(7) } }));
    const stated = { _type: 'https://in-toto.io/Statement/v1', subject, predicateType: type, predicate };
    return bundled(Buffer.from(JSON.stringify(stated)), privateKey);
  };
  const statementsAt = async (digest: string) => await w.sdk.artifacts.attestations(w.teamId, digest);
  const upload = async (digest: string, bundle: string) =>
    await w.sdk.artifacts.upload(w.teamId, digest, { bundle });

  beforeAll(async () => {
    w = await world();
  });

  it('gives a document back as it came, the first one or the one that is named', async () => {
    const digest = await declare();
    // Nothing that a packer makes small: several pieces.
    const components = Array.from({ length: 7_000 }, (_, at) => ({
      type: 'library',
      name: createHash('sha256').update(String(at)).digest('hex'),
    }));
    const zipped = gzipSync(cycloneDx(components));
    const plain = Buffer.from('{ "spdxVersion": "SPDX-2.3", "packages": [] }\n');
    for (const document of [zipped, plain]) await uploadSbom(digest, document);
    const { sbom } = await w.sdk.artifacts.get(w.teamId, digest);
    expect(sbom?.lists?.map(({ packages, unread }) => [packages, unread])).toEqual([
      [7_000, []],
      [0, ['the document names no package']],
    ]);
    const fetched = async (query: string) => {
      const url = `${w.server.baseUrl}/teams/${w.teamId}/artifacts/${digest}/sbom${query}`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${w.owner.token}` } });
      return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    const first = await fetched('');
    expect(first.answer.status).toBe(200);
    expect(first.answer.headers.get('content-type')).toBe('application/gzip');
    expect(first.bytes.equals(zipped)).toBe(true);
    expect(sha256(first.bytes)).toBe(sbom?.lists?.[0]?.sha256);
    expect((await fetched(`?sha256=${sha256(plain)}`)).bytes.equals(plain)).toBe(true);
    const chunks: Uint8Array[] = [];
    for await (const chunk of w.sdk.artifacts.sbom(w.teamId, digest)) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(zipped)).toBe(true);
    expect((await fetched(`?sha256=${'0'.repeat(64)}`)).answer.status).toBe(404);
    expect((await fetched('?sha256=x')).answer.status).toBe(400);
    const other = await w.stranger();
    const theirs = await fetch(first.answer.url, { headers: { authorization: `Bearer ${other.token}` } });
    expect(theirs.status).toBe(404);
  });

  it('has a statement at each of its subjects, also at one that is declared later, once however often it comes', async () => {
    const [one, two] = [await declare(), await declare()];
    const later = freshDigest();
    const about = [one, two, later, ...Array.from({ length: 110 }, freshDigest)];
    const bundle = statement(about, {}).toString();
    const { id } = await upload(one, bundle);
    expect((await upload(two, bundle)).id).toBe(id);
    await declare(later);
    for (const digest of [one, two, later])
      expect(await statementsAt(digest), digest).toMatchObject([
        { id, verification: { status: 'unverified' } },
      ]);
    await w.sdk.artifacts.removeAttestation(w.teamId, two, id);
    for (const digest of [one, two, later]) expect(await statementsAt(digest)).toEqual([]);
  });

  it('takes a list of packages of 2.25 MiB as a statement that counts, and nothing else of that size', async () => {
    const digest = await declare();
    const { id: keyId } = await w.sdk.trustedKeys.add(w.teamId, { name: 'scanner', publicKey: pem });
    const components = Array.from({ length: 9_100 }, (_, at) => ({
      type: 'library',
      name: `lib${at}`,
      version: '1.0.0',
      purl: `pkg:npm/lib${at}@1.0.0`,
      hashes: [{ alg: 'SHA-256', content: 'ab'.repeat(32) }],
    }));
    const long = statement([digest], { type: CYCLONEDX, predicate: { components } });
    expect(long.length).toBeGreaterThan(2_250_000);
    const stored = await upload(digest, long.toString());
    expect(stored).toMatchObject({ verification: { status: 'valid', keyId }, predicateType: CYCLONEDX });
    const [listed] = await statementsAt(digest);
    expect(listed?.statement).toBeUndefined();
    expect(JSON.stringify(listed?.bundle)).toBe(long.toString());
    const other = statement([digest], { predicate: { components } });
    expect(await refused(upload(digest, other.toString()))).toBe('400 attestation_invalid');
  });

  it('says what it is about, or that it names nothing, and shows a bundle behind a mark of the order of bytes', async () => {
    const digest = await declare();
    const mismatch = async (bundle: Buffer) =>
      await upload(digest, bundle.toString()).then(
        () => 'taken',
        (error: unknown) => (error as Error).message,
      );
    const many = Array.from({ length: 8 }, freshDigest);
    expect(await mismatch(statement(many, {}))).toMatch(/about sha256:.* and 3 more, not about sha256:/);
    const stated = {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'x', digest: { gitCommit: 'a'.repeat(40) } }],
      predicateType: 'https://x.example/scan/v1',
      predicate: {},
    };
    const unsigned = { signatures: [{ sig: 'AA==' }] };
    const nameless = Buffer.from(enveloped(Buffer.from(JSON.stringify(stated)), privateKey, unsigned));
    expect(await mismatch(nameless)).toBe(`the statement names no subject by a SHA-256, expected ${digest}`);
    const { bundle } = await upload(digest, `\ufeff${statement([digest], {}).toString()}`);
    expect(bundle).toMatchObject({ dsseEnvelope: { payloadType: PAYLOAD_TYPE } });
  });

  it('is released by digest as by id', async () => {
    const digest = await declare();
    const { id } = await w.sdk.artifacts.get(w.teamId, digest);
    const release = await w.sdk.releases.create(w.projectId, { version: '7', artifactIds: [digest] });
    expect(release.artifacts).toMatchObject([{ id, digest }]);
    const missing = { version: '8', artifactIds: [freshDigest()] };
    expect(await refused(w.sdk.releases.create(w.projectId, missing))).toBe('404 not_found');
  });
});
