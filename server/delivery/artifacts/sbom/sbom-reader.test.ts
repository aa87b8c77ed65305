/** Documents are read in a thread, and whatever one does to the thread, the next one is read. */
import { readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { createSbomReader } from './sbom-reader.ts';

const document = readFileSync(new URL('./testdata/cyclonedx-1.6.json', import.meta.url));
const GENEROUS = { documentMs: 60_000 };
const reader = createSbomReader({ ...GENEROUS, documentsMax: 3 });
afterAll(async () => await reader.stop());

it('reads documents one after the other, problems as well', async () => {
  const [first, second] = await Promise.all([reader.read(document), reader.read(Buffer.from('{'))]);
  expect(first).toMatchObject({ format: 'cyclonedx', version: '1.6' });
  expect(first).toHaveProperty('packages.length', 5);
  expect(second).toEqual({ problem: expect.stringContaining('it is no JSON') });
});

it('refuses what would wait behind too many others', async () => {
  const waiting = [1, 2, 3].map(async () => await reader.read(document));
  await expect(reader.read(document)).rejects.toMatchObject({
    code: 'unavailable',
    message: '3 SBOM documents wait to be read, at most 3 may; try again',
  });
  expect(await Promise.all(waiting)).toHaveLength(3);
  expect(await reader.read(document)).toHaveProperty('packages.length', 5);
});

it('lets a caller go who gives up, and reads the document of the next one', async () => {
  const calls = new AbortController();
  const first = reader.read(document);
  const given = reader.read(document, calls.signal);
  const last = reader.read(document);
  calls.abort(new Error('given up'));
  await expect(given).rejects.toThrow('given up');
  expect(await first).toEqual(await last);
  await expect(reader.read(document, calls.signal)).rejects.toThrow('given up');
});

it('says that a document took too long or too much memory, and reads the next one in a new thread', async () => {
  const hurried = createSbomReader({ documentMs: 1 });
  for (let round = 0; round < 2; round += 1)
    expect(await hurried.read(document)).toEqual({
      problem: 'not read: reading it took more than 0.001 s',
    });
  const small = createSbomReader({ ...GENEROUS, memoryMb: 24 });
  const large = Buffer.from(`[${'{},'.repeat(2_000_000)}{}]`);
  expect(await small.read(large)).toEqual({ problem: 'not read: reading it takes too much memory' });
  expect(await small.read(document)).toHaveProperty('packages.length', 5);
  await small.stop();
});

it('reads nothing more once it is stopped, and finds no fault with what it did not read', async () => {
  const stopped = createSbomReader(GENEROUS);
  const reads = [stopped.read(document), stopped.read(document)];
  await stopped.stop();
  for (const read of [...reads, stopped.read(document)])
    await expect(read).rejects.toMatchObject({ code: 'unavailable', message: 'the server stops; try again' });
});
