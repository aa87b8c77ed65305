import { describe, expect, it } from 'vitest';
import { writeTar } from '@svc/proto/archive/tar.ts';
import { readTar, type TarEntry } from './tar-reader.ts';

const signal = new AbortController().signal;
const END = Buffer.alloc(1_024);

interface Raw {
  path?: string;
  typeFlag?: string;
  size?: number | Buffer;
  magic?: string;
  prefix?: string;
  mode?: string;
  link?: string;
  body?: string;
}

/** An entry as no careful program would write it. */
function raw({ path = 'x', typeFlag = '0', magic = 'ustar\x0000', body = '', ...rest }: Raw): Buffer {
  const block = Buffer.alloc(512);
  block.write(path, 0);
  block.write(rest.mode ?? '0000644', 100);
  const { size = Buffer.byteLength(body) } = rest;
  if (typeof size === 'number') block.write(size.toString(8).padStart(11, '0'), 124);
  else size.copy(block, 124);
  block.write(' '.repeat(8), 148);
  block.write(typeFlag, 156);
  block.write(rest.link ?? '', 157);
  block.write(magic, 257, 'latin1');
  block.write(rest.prefix ?? '', 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const filled = Buffer.alloc(Math.ceil(Buffer.byteLength(body) / 512) * 512);
  filled.write(body);
  return Buffer.concat([block, filled]);
}

function pax(records: Record<string, string>): Buffer {
  const body = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    const bytes = Buffer.byteLength(rest);
    const length = bytes + String(bytes + String(bytes).length).length;
    return `${length}${rest}`;
  });
  return raw({ typeFlag: 'x', body: body.join('') });
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface Listed {
  entries: Pick<TarEntry, 'path' | 'size' | 'type'>[];
  bodies: (string | undefined)[];
  dropped: number;
  problem?: string;
}

async function list(bytes: Uint8Array, { piece = 700, bytesMax = 4_096 } = {}): Promise<Listed> {
  const listed: Listed = { entries: [], bodies: [], dropped: 0 };
  try {
    const onDropped = () => (listed.dropped += 1);
    for await (const entry of readTar(inPieces(bytes, piece), { signal, onDropped })) {
      const { path, size, type } = entry;
      listed.entries.push({ path, size, type });
      listed.bodies.push((await entry.read(bytesMax))?.toString());
    }
  } catch (error) {
    listed.problem = (error as Error).message;
  }
  return listed;
}

const paths = (listed: Listed) => listed.entries.map(({ path }) => path);

describe('readTar()', () => {
  it.each([1, 511, 512, 513, 1_000_000])('reads a stream that comes in pieces of %i bytes', async (piece) => {
    const tar = writeTar([
      { type: 'directory', path: './', mode: 0o755 },
      { type: 'directory', path: './etc/', mode: 0o755 },
      { type: 'file', path: './etc/a', mode: 0o644, content: Buffer.from('a'.repeat(600)) },
      { type: 'file', path: 'empty', mode: 0o644, content: Buffer.alloc(0) },
      { type: 'link', path: 'b', target: '/etc/a' },
      { type: 'file', path: '/c', mode: 0o644, content: Buffer.from('c') },
    ]);
    expect(await list(tar, { piece })).toEqual({
      entries: [
        { path: 'etc', size: 0, type: 'directory' },
        { path: 'etc/a', size: 600, type: 'file' },
        { path: 'empty', size: 0, type: 'file' },
        { path: 'b', size: 0, type: 'other' },
        { path: 'c', size: 1, type: 'file' },
      ],
      bodies: ['', 'a'.repeat(600), '', '', 'c'],
      dropped: 0,
    });
  });

  it('passes by a body that nobody asks for, and one that is read in part', async () => {
    const tar = Buffer.concat([raw({ body: 'x'.repeat(2_000) }), raw({ path: 'y', body: 'y' }), END]);
    const seen: string[] = [];
    for await (const entry of readTar(inPieces(tar, 700), { signal, onDropped: () => undefined })) {
      seen.push(entry.path);
      if (entry.path !== 'x') continue;
      for await (const piece of entry.pieces()) {
        seen.push(String(piece.length));
        break;
      }
    }
    expect(seen).toEqual(['x', '188', 'y']);
  });

  it('answers no body that is longer than wanted', async () => {
    const listed = await list(Buffer.concat([raw({ body: 'four' }), raw({ path: 'y', body: '123' })]), {
      bytesMax: 3,
    });
    expect(listed.bodies).toEqual([undefined, '123']);
  });

  it('knows the long names of every format, and who they belong to', async () => {
    const long = `usr/${'ä/'.repeat(200)}file`;
    const tar = Buffer.concat([
      raw({ path: 'name', prefix: 'a/b' }),
      raw({ path: 'gnu', magic: 'ustar  \0', prefix: 'times' }),
      raw({ typeFlag: 'L', body: `${long}\0` }),
      raw({ path: 'cut', body: '1' }),
      raw({ typeFlag: 'g', body: '9 a=b\n' }),
      pax({ mtime: '1.5', path: `${long}2`, size: '3' }),
      raw({ path: 'cut', size: 0, body: 'abc' }),
      raw({ typeFlag: 'K', body: 'etc/other\0' }),
      raw({ path: 'hard', typeFlag: '1', link: 'cut' }),
      END,
    ]);
    const listed = await list(tar);
    expect(listed.problem).toBeUndefined();
    expect(paths(listed)).toEqual(['a/b/name', 'gnu', long, `${long}2`, 'hard']);
    expect(listed.bodies).toEqual(['', '', '1', 'abc', '']);
    const links: (string | undefined)[] = [];
    for await (const { linkPath } of readTar(inPieces(tar, 512), { signal, onDropped: () => undefined }))
      links.push(linkPath);
    expect(links.at(-1)).toBe('etc/other');
  });

  it('knows a size in binary, and no body of a folder or a link', async () => {
    const size = Buffer.from('800000000000000000000003', 'hex');
    const tar = Buffer.concat([
      raw({ size, body: 'abc' }),
      raw({ path: 'd', typeFlag: '5', size: 700 }),
      raw({ path: 'l', typeFlag: '1', size: 700 }),
      END,
    ]);
    expect(await list(tar)).toMatchObject({ bodies: ['abc', '', ''], dropped: 0 });
  });

  it('tells programs by their mode', async () => {
    const tar = Buffer.concat([raw({ mode: '0000755' }), raw({ mode: '0000644' }), raw({ mode: 'x' })]);
    const modes: boolean[] = [];
    for await (const { executable } of readTar(inPieces(tar, 99), { signal, onDropped: () => undefined }))
      modes.push(executable);
    expect(modes).toEqual([true, false, false]);
  });

  it('drops and counts paths that lead out of the image or are none', async () => {
    const tar = Buffer.concat([
      raw({ path: '../etc/passwd', body: 'x' }),
      raw({ path: 'a/../../b' }),
      pax({ path: 'a\0b' }),
      raw({}),
      pax({ path: 'a/'.repeat(3_000) }),
      raw({}),
      raw({ path: 'a/..b/./c' }),
      END,
    ]);
    const listed = await list(tar);
    expect(paths(listed)).toEqual(['a/..b/c']);
    expect(listed.dropped).toBe(4);
  });

  const broken = Buffer.from(raw({ body: 'abc' }));
  broken[3] = 0x41;
  it.each([
    ['a wrong checksum', broken, /^the checksum of a header is \d+, its bytes give \d+$/],
    ['the middle of a body', raw({ body: 'abc' }).subarray(0, 514), /^it ends in the middle of an entry$/],
    ['the middle of a header', raw({}).subarray(0, 100), /^it ends in the middle of an entry$/],
    ['a size that is negative', raw({ size: Buffer.alloc(12, 0xff) }), /^an entry of 0xff+ bytes, at most/],
    ['a size that is no number', raw({ size: Buffer.from('zzz') }), /^an entry of "zzz" bytes, at most/],
    ['a size past all bounds', pax({ size: '9'.repeat(19) }), /^an entry of "9+" bytes, at most/],
    ['a huge pax header', raw({ typeFlag: 'x', size: 2 ** 21 }), /^a header is 2097152 bytes long, at most/],
    ['a pax header of no records', raw({ typeFlag: 'x', body: 'hello' }), /^a pax header cannot be read$/],
    ['a pax record of no length', raw({ typeFlag: 'x', body: '0 a=b\n' }), /^a pax header cannot be read$/],
    ['a pax record that is too long', raw({ typeFlag: 'x', body: '99 a=b\n' }), /^a pax header cannot be/],
    ['headers without end', Buffer.concat(Array(9).fill(pax({ a: 'b' }))), /^it has more than 4 headers/],
  ])('says that it was ended by %s, after what was right before it', async (_what, bytes, problem) => {
    const tar = Buffer.concat([raw({ path: 'before', body: '1' }), bytes, raw({ path: 'after' })]);
    const isCut = /middle/.test(String(problem));
    const listed = await list(isCut ? tar.subarray(0, 1_024 + bytes.length) : tar);
    expect(paths(listed)[0]).toBe('before');
    expect(listed.problem).toMatch(problem);
  });

  it('is not held up by a source that says nothing when it is stopped, and lets it go', async () => {
    let isClosed = false;
    const silent: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: async () => await new Promise(() => undefined),
        async return() {
          isClosed = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const controller = new AbortController();
    const reading = readTar(silent, { signal: controller.signal, onDropped: () => undefined }).next();
    controller.abort(new Error('stopped here'));
    await expect(reading).rejects.toThrow('stopped here');
    expect(isClosed).toBe(true);
  });
});
