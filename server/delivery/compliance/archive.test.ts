import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createArchive, PackageTooLarge } from './archive.ts';
import { inPieces } from './store.ts';

async function* items<T>(...all: readonly T[]): AsyncGenerator<T> {
  for (const item of all) yield await Promise.resolve(item);
}

const tarOf = (archive: ReturnType<typeof createArchive>): Buffer => Buffer.concat([...archive.pieces()]);

describe('createArchive()', () => {
  it('makes the same bytes of the same files, in whatever order they come', () => {
    const [one, two] = [createArchive(), createArchive()];
    one.add('b/1', 'x');
    one.add('B', 'y');
    two.add('B', 'y');
    two.add('b/1', 'x');
    expect(tarOf(one)).toEqual(tarOf(two));
    expect(one.files().map(({ path }) => path)).toEqual(['B', 'b/1']);
  });

  it('writes lists that are JSON, with none, one and many items', async () => {
    const archive = createArchive();
    const content = (path: string): unknown => {
      const tar = tarOf(archive).toString('latin1');
      const begin = tar.indexOf(`${path}\0`) + 512;
      return JSON.parse(tar.slice(begin, tar.indexOf('\0', begin)));
    };
    const many = [{ a: 1 }, JSON.parse('{"__proto__":2}') as object];
    expect(await archive.addList('list0', items())).toBe(0);
    expect(await archive.addList('list1', items({ a: 1 }))).toBe(1);
    expect(await archive.addList('list2', items(...many))).toBe(2);
    expect(content('list0')).toEqual([]);
    expect(content('list1')).toEqual([{ a: 1 }]);
    expect(content('list2')).toEqual(many);
  });

  it('compresses what is read piece by piece', async () => {
    const archive = createArchive();
    await archive.addGzip('lines', items('a\n', 'b\n'));
    const size = archive.files()[0]?.size ?? 0;
    expect(gunzipSync(tarOf(archive).subarray(512, 512 + size)).toString()).toBe('a\nb\n');
  });

  it('ends the reading as soon as there is too much', async () => {
    const archive = createArchive(200_000);
    let read = 0;
    const endless = async function* () {
      for (;;) yield await Promise.resolve({ text: 'x'.repeat(1_000), read: (read += 1) });
    };
    await expect(archive.addList('list', endless())).rejects.toThrow(PackageTooLarge);
    expect(read).toBeLessThan(200);
    expect(() => archive.add('file', Buffer.alloc(200_000))).toThrow('more than 200000 bytes');
  });
});

describe('inPieces()', () => {
  it.each([[[]], [[5]], [[3, 5]], [[4, 4]], [[1, 10, 0, 2]]])(
    'cuts parts of %j bytes into pieces of 4',
    (sizes) => {
      const parts = sizes.map((size, n) => Buffer.alloc(size, n + 1));
      const pieces = [...inPieces(parts, 4)];
      expect(Buffer.concat(pieces)).toEqual(Buffer.concat(parts));
      expect(pieces.slice(0, -1).every(({ length }) => length === 4)).toBe(true);
    },
  );
});
