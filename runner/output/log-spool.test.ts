import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BATCH_BYTES_MAX, openSpool, spoolPath, type Spool, type SpoolChunk } from './log-spool.ts';
import { smallDisk, tempDir } from '../../test/setup/runner/temp-dir.ts';

const ref = { id: 'run_1', epoch: 3 };

async function readAll(spool: Spool): Promise<SpoolChunk[]> {
  const chunks: SpoolChunk[] = [];
  for (let offset = 0; offset < spool.bytes;) {
    const batch = await spool.read(offset);
    expect(batch.nextOffset).toBeGreaterThan(offset);
    chunks.push(...batch.chunks);
    offset = batch.nextOffset;
  }
  return chunks;
}

describe('log spool', () => {
  it('gives back what was appended, in order, neighbours of one stream joined', async () => {
    const spool = await openSpool(tempDir(), ref);
    await Promise.all([
      spool.append('stdout', Buffer.from('a')),
      spool.append('stdout', Buffer.from('b')),
      spool.append('stderr', Buffer.from('c')),
    ]);
    const batch = await spool.read(0);
    expect(batch).toEqual({
      offset: 0,
      nextOffset: 3,
      chunks: [
        { stream: 'stdout', data: Buffer.from('ab') },
        { stream: 'stderr', data: Buffer.from('c') },
      ],
    });
    expect((await spool.read(1)).chunks[0]?.data.toString()).toBe('b');
    expect(await spool.end()).toEqual({ bytes: 3, sha256: createHash('sha256').update('abc').digest('hex') });
    await spool.close();
  });

  it('cuts batches at the limit and never inside of a character', async () => {
    const spool = await openSpool(tempDir(), ref);
    const text = 'x€🚀'.repeat(90_000);
    await spool.append('stdout', Buffer.from(text));
    const chunks = await readAll(spool);
    for (const chunk of chunks) expect(chunk.data.toString('utf8')).not.toContain('\ufffd');
    expect(Buffer.concat(chunks.map((chunk) => chunk.data)).toString('utf8')).toBe(text);
    expect((await spool.read(0)).nextOffset).toBeGreaterThan(BATCH_BYTES_MAX - 70_000);
    await spool.close();
  });

  it('keeps the encoded body of a call below its limit when the streams alternate', async () => {
    const spool = await openSpool(tempDir(), ref);
    const appended = Array.from({ length: 20_000 }, async (_, at) => {
      await spool.append(at % 2 === 0 ? 'stdout' : 'stderr', Buffer.from(`${at}\n`));
    });
    await Promise.all(appended);
    const batch = await spool.read(0);
    const body = JSON.stringify({
      id: 'x'.repeat(40),
      epoch: 1,
      offset: 1,
      chunks: batch.chunks.map((chunk) => ({ ...chunk, data: chunk.data.toString('base64') })),
    });
    expect(body.length).toBeLessThan(393_216);
    expect(batch.chunks.length).toBeLessThanOrEqual(4096);
    expect(batch.chunks.length).toBeGreaterThan(1000);
    await spool.close();
  });

  it('reads on from any offset after a rewind', async () => {
    const spool = await openSpool(tempDir(), ref);
    const data = Buffer.from(Array.from({ length: 300_000 }, (_, at) => 97 + (at % 26)));
    await spool.append('stdout', data);
    await readAll(spool);
    for (const offset of [250_000, 3, 131_071, 0, 299_999]) {
      const batch = await spool.read(offset);
      const got = Buffer.concat(batch.chunks.map((chunk) => chunk.data));
      expect(got.equals(data.subarray(offset, offset + got.length))).toBe(true);
    }
    expect((await spool.read(300_000)).chunks).toEqual([]);
    await spool.close();
  });

  it('goes on after a restart, without the frame that was torn', async () => {
    const folder = tempDir();
    const first = await openSpool(folder, ref);
    await first.append('stdout', Buffer.from('whole'));
    await first.append('stderr', Buffer.from('torn in the middle'));
    await first.close();
    truncateSync(spoolPath(folder, ref), statSync(spoolPath(folder, ref)).size - 4);
    const second = await openSpool(folder, ref);
    expect(second.bytes).toBe(5);
    await second.append('runner', Buffer.from('!'));
    const line =
      "\n[14 bytes of output are missing here: the runner's copy of it was damaged, perhaps by a crash]\n";
    expect(await readAll(second)).toEqual([
      { stream: 'stdout', data: Buffer.from('whole') },
      { stream: 'runner', data: Buffer.from(`${line}!`), missing: 14 },
    ]);
    const { sha256 } = await second.end();
    expect(sha256).toBe(createHash('sha256').update(`whole${line}!`).digest('hex'));
    await second.close();
    const third = await openSpool(folder, ref);
    expect(await third.end()).toEqual({ bytes: 6 + line.length, sha256 });
    expect((await third.read(3)).chunks[1]).toMatchObject({ missing: 14 });
    expect((await third.read(6)).chunks[0]?.missing).toBeUndefined();
    await third.remove();
    expect(() => readFileSync(spoolPath(folder, ref))).toThrow(/ENOENT/);
  });

  it('cuts off what is no frame at all: garbage, and the zeros that a power loss may leave', async () => {
    for (const byte of [0xff, 0]) {
      const folder = tempDir();
      appendFileSync(spoolPath(folder, ref), Buffer.alloc(100, byte));
      const spool = await openSpool(folder, ref);
      expect(spool.bytes).toBe(0);
      await spool.append('stdout', Buffer.from('x'));
      expect(await readAll(spool)).toMatchObject([
        { stream: 'runner', missing: 95 },
        { stream: 'stdout', data: Buffer.from('x') },
      ]);
      await spool.close();
    }
  });

  it('2.3 goes on with a full disk, and says how much is missing when there is room again', async ({
    skip,
  }) => {
    const folder = smallDisk(skip);
    writeFileSync(join(folder, 'ballast'), Buffer.alloc(40_000));
    const spool = await openSpool(folder, ref);
    await spool.append('stdout', Buffer.from('before '));
    await spool.append('stdout', Buffer.alloc(50_000, 'x'));
    await spool.append('stderr', Buffer.alloc(50_000, 'y'));
    expect(spool.bytes).toBe(7);
    unlinkSync(join(folder, 'ballast'));
    await spool.append('stdout', Buffer.from('after'));
    const chunks = await readAll(spool);
    expect(chunks.map((chunk) => chunk.missing)).toEqual([undefined, 100_000, undefined]);
    const text = chunks.map((chunk) => `${chunk.stream}:${chunk.data.toString()}`).join('|');
    expect(text).toBe(
      "stdout:before |runner:\n[100000 bytes of output are missing here: the runner's disk was full]\n|stdout:after",
    );
    await spool.close();
  });
});
