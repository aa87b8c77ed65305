/**
 * Statements that hold a whole list of packages, up to 4 MiB: they come as a gzip, count as others do, and
 * are given back as they were signed.
 */
import { createHash } from 'node:crypto';
import { crc32, deflateRawSync, gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { keyPair, listing, SPDX } from '../../../test/setup/listing.ts';
import { goodsOf } from '../../../test/setup/delivery/goods.ts';
import { refusedWith } from '../../../test/setup/delivery/refused-with.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

interface Bundle {
  readonly dsseEnvelope: { readonly signatures: readonly unknown[] };
}

const MIB = 1_048_576;
/** The client has 8 s by default, which several megabytes in one process take on a machine that is busy. */
const TIMEOUT_MS = 30_000;
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const packed = (bytes: Uint8Array): string => base64(gzipSync(bytes));

describe.skipIf(!(await has('postgres')))('statements of 4 MiB', () => {
  let w: World;
  const { artifact, fresh } = goodsOf(() => w);
  const { privateKey: by, publicKey } = keyPair();
  const trust = async (key = publicKey, name = fresh('scanner')) =>
    await w.sdk.trustedKeys.add(w.teamId, {
      name,
      publicKey: key.export({ type: 'spki', format: 'pem' }).toString(),
    });
  const declare = async (): Promise<string> => (await artifact()).digest;
  const upload = async (digest: string, bundle: string) =>
    await w.sdk.artifacts.upload(w.teamId, digest, { bundle }, { timeoutMs: TIMEOUT_MS });
  const fault = async (digest: string, bundle: string): Promise<string> =>
    await refusedWith(upload(digest, bundle));

  beforeAll(async () => {
    w = await world();
  });

  it('are taken, and found again byte for byte, once however they were packed', async () => {
    const digest = await declare();
    const { id: keyId } = await trust();
    const file = listing({ digest, bytes: 4 * MIB, by });
    const stored = await upload(digest, packed(file));
    const sha256 = sha256Of(file);
    expect(stored).toMatchObject({ verification: { status: 'valid', keyId }, sha256 });
    expect(JSON.stringify(stored.bundle)).toBe(file.toString());
    expect((await upload(digest, base64(gzipSync(file, { level: 4 })))).id).toBe(stored.id);
    const [listed, ...others] = await w.sdk.artifacts.attestations(w.teamId, digest);
    expect([listed?.id, listed?.sha256, listed?.statement, others]).toEqual([
      stored.id,
      sha256,
      undefined,
      [],
    ]);
    expect(JSON.stringify(listed?.bundle)).toBe(file.toString());
    expect(await w.sdk.audit.list(w.teamId)).toContainEqual(
      expect.objectContaining({
        action: 'attestation.uploaded',
        details: expect.objectContaining({ sha256 }),
      }),
    );
  });

  it('are told to whoever decides, and stand in the passport', async () => {
    const digest = await declare();
    await upload(digest, packed(listing({ digest, bytes: 4 * MIB, by, predicateType: SPDX })));
    const passport = async () => (await w.sdk.artifacts.passport(w.teamId, digest)).document;
    const known = async () => await passport().catch(() => ({ attestations: [] }));
    await waitFor('the statement in the passport', known, {
      holds: ({ attestations }) =>
        (attestations as ReadonlyArray<{ predicateType: string; verified: boolean }>).some(
          ({ predicateType, verified }) => predicateType === SPDX && verified,
        ),
    });
  });

  it('count when their key is trusted later, and not before', async () => {
    const later = keyPair();
    const digest = await declare();
    const other = await trust(keyPair().publicKey);
    const file = listing({ digest, bytes: 4 * MIB, by: later.privateKey, predicateType: SPDX });
    expect(await upload(digest, packed(file))).toMatchObject({ verification: { status: 'unverified' } });
    const { id: keyId } = await trust(later.publicKey, 'later');
    const status = async () => (await w.sdk.artifacts.attestations(w.teamId, digest))[0]?.verification;
    expect(await status()).toMatchObject({ status: 'valid', keyId });
    await w.sdk.trustedKeys.remove(w.teamId, keyId);
    expect(await status()).toMatchObject({ status: 'unverified' });
    await w.sdk.trustedKeys.remove(w.teamId, other.id);
  });

  it('are pages of their own where they do not fit on one', async () => {
    const digest = await declare();
    const ids: string[] = [];
    for (const bytes of [3.9 * MIB, 4 * MIB, 3.8 * MIB])
      ids.push((await upload(digest, packed(listing({ digest, bytes: Math.floor(bytes), by })))).id);
    const page = await w.sdk.artifacts.attestationsPage(w.teamId, digest);
    expect(page.attestations.map(({ id }) => id)).toEqual([ids[2]]);
    const all = await w.sdk.artifacts.attestations(w.teamId, digest);
    expect(all.map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('are refused with one byte more, and where they hold something else', async () => {
    const digest = await declare();
    expect(await fault(digest, packed(listing({ digest, bytes: 4 * MIB + 1, by })))).toBe(
      '400 attestation_invalid the bundle cannot be taken: its statement has 4194305 bytes, at most 4194304 are read',
    );
    const scan = listing({ digest, bytes: 4 * MIB, by, predicateType: 'https://x.example/scan/v1' });
    expect(await fault(digest, packed(scan))).toMatch(
      /its statement has 4194304 bytes, at most 1048576 are read of anything but CycloneDX and SPDX$/,
    );
    const unpacked = listing({ digest, bytes: 4 * MIB, by }).toString();
    expect(await fault(digest, unpacked)).toMatch(/^4(00|13) (validation_failed|body_too_large) .*3\d{6}/);
    const other = await declare();
    expect(await fault(other, packed(listing({ digest, bytes: 4 * MIB, by })))).toMatch(
      /^400 attestation_subject_mismatch /,
    );
  });

  it('do not count with the signature of another one', async () => {
    const digest = await declare();
    const { publicKey: known, privateKey } = keyPair();
    const { id: keyId } = await trust(known, 'forged');
    const hint = createHash('sha256')
      .update(known.export({ type: 'spki', format: 'der' }))
      .digest('base64');
    const [one, other] = [4 * MIB, 4 * MIB - 1].map(
      (bytes) => JSON.parse(listing({ digest, bytes, by: privateKey, hint }).toString()) as Bundle,
    );
    const forged = {
      ...one,
      dsseEnvelope: { ...one?.dsseEnvelope, signatures: other?.dsseEnvelope.signatures },
    };
    expect(await upload(digest, packed(Buffer.from(JSON.stringify(forged))))).toMatchObject({
      verification: { status: 'invalid', problem: 'the signature is not that of the key which it names' },
    });
    expect(await upload(digest, packed(Buffer.from(JSON.stringify(one))))).toMatchObject({
      verification: { status: 'valid', keyId },
    });
  });

  it('are packed only where they must be: a short one is the same statement plain and packed', async () => {
    const digest = await declare();
    const { privateKey } = keyPair();
    for (const bytes of [2_000, 1.5 * MIB]) {
      const file = listing({ digest, bytes, by: privateKey });
      const { id, sha256 } = await upload(digest, packed(file));
      expect(sha256).toBe(sha256Of(file));
      expect((await upload(digest, file.toString())).id).toBe(id);
    }
  });

  describe('of a gzip', () => {
    let digest: string;
    let file: Buffer;
    let whole: Buffer;
    beforeAll(async () => {
      digest = await declare();
      file = listing({ digest, bytes: 4 * MIB, by });
      whole = gzipSync(file);
    });
    const lying = (): Buffer => {
      const bomb = gzipSync(Buffer.alloc(64 * MIB));
      bomb.writeUInt32LE(1_000, bomb.length - 4);
      return bomb;
    };
    const changed = (at: number, byte?: number): Buffer => {
      const copy = Buffer.from(whole);
      const place = at < 0 ? copy.length + at : at;
      copy[place] = byte ?? (copy[place] ?? 0) ^ 1;
      return copy;
    };
    const flagged = (flag: number): Buffer => changed(3, flag);
    const noHead = /it is no whole gzip file: its head is wrong$/;
    const isCut = /it is no whole gzip file: |it unpacks to \d+ bytes, at most/;
    const notAlone = /\d+ bytes stand behind the end of its gzip file, which is to be one alone$/;

    it.each<readonly [string, () => Buffer, RegExp]>([
      [
        'that is a bomb',
        () => gzipSync(Buffer.alloc(64 * MIB)),
        /it unpacks to 67108864 bytes, at most 6291456 are read$/,
      ],
      [
        'that hides that it is one',
        lying,
        /it unpacks to more than 6291456 bytes, which is the most that is read$/,
      ],
      ['that is cut', () => whole.subarray(0, 100_000), isCut],
      ['without its end', () => whole.subarray(0, -8), isCut],
      ['that is nothing but a head', () => whole.subarray(0, 12), noHead],
      [
        'with something behind it',
        () => Buffer.concat([whole, Buffer.from('more'), Buffer.alloc(4)]),
        /8 bytes stand behind the end of its gzip file, which is to be one alone$/,
      ],
      [
        'of several members',
        () => Buffer.concat([gzipSync(file.subarray(0, 1_000)), gzipSync(file.subarray(1_000))]),
        notAlone,
      ],
      ['of an empty member and another', () => Buffer.concat([gzipSync(''), whole]), notAlone],
      ['with a wrong sum', () => changed(-5), /its length or its CRC-32 is wrong$/],
      ['with a wrong length', () => changed(-4), /its length or its CRC-32 is wrong$/],
      ['with a flag that nobody knows', () => flagged(32), noHead],
      ['with a wrong sum of its head', () => flagged(2), noHead],
      [
        'with a name without an end',
        () => Buffer.concat([flagged(8).subarray(0, 10), Buffer.alloc(20, 65)]),
        noHead,
      ],
      ['of something else', () => gzipSync('none'), /the body is not JSON/],
    ])('one %s is refused', async (_what, bytes, why) => {
      expect(await fault(digest, base64(bytes()))).toMatch(
        new RegExp(`^400 attestation_invalid the bundle cannot be taken: .*${why.source}`),
      );
    });

    it('what is no base64 is refused, and a name in its head is none of our business', async () => {
      const text = base64(whole);
      expect(await fault(digest, `${text.slice(0, 900)}*${text.slice(900)}`)).toMatch(
        /^400 validation_failed bundle: /,
      );
      const head = Buffer.concat([
        Buffer.from([0x1f, 0x8b, 8, 0b11110, 0, 0, 0, 0, 0, 3]),
        Buffer.from([3, 0, 1, 2, 3]),
        Buffer.from('web.sigstore.json\0a word\0'),
      ]);
      const sum = Buffer.alloc(2);
      sum.writeUInt16LE(crc32(head) & 0xffff);
      const named = Buffer.concat([head, sum, deflateRawSync(file), whole.subarray(-8)]);
      expect(gunzipSync(named).equals(file)).toBe(true);
      expect((await upload(digest, base64(named))).sha256).toBe(sha256Of(file));
    });
  });
});
