import { describe, expect, it } from 'vitest';
import { formatPurl } from '@svc/proto/packages/purl.ts';
import { readGoProgram } from './go-build-info.ts';

const MAGIC = Buffer.from('\xff Go buildinf:', 'latin1');
const ELF = Buffer.from('\x7fELF\x02\x01\x01', 'latin1');
const MARK = Buffer.alloc(16, 0x55);

function text(content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  const length: number[] = [];
  for (let left = bytes.length; ; left >>= 7) {
    length.push(left >= 0x80 ? (left & 0x7f) | 0x80 : left);
    if (left < 0x80) break;
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

function buildInfo(version: string, list: string, flags = 2): Buffer {
  const header = Buffer.alloc(32);
  MAGIC.copy(header);
  header[14] = 8;
  header[15] = flags;
  return Buffer.concat([header, text(version), text(Buffer.concat([MARK, Buffer.from(list), MARK]))]);
}

/** Makes a program with its build information at an offset. */
function program(info: Buffer, at = 4_096): Buffer {
  const bytes = Buffer.alloc(at + info.length + 5_000, 0x90);
  ELF.copy(bytes);
  info.copy(bytes, at);
  return bytes;
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, piece = 1_000) {
  const found = await readGoProgram(inPieces(bytes, piece));
  if (found === undefined || 'problem' in found) return found;
  return found.map(({ purl }) => formatPurl(purl));
}

const LIST = [
  'path\tgithub.com/acme/tool/cmd/tool',
  'mod\tgithub.com/acme/tool\t(devel)\t',
  'dep\tgithub.com/BurntSushi/toml\tv1.3.2\th1:o7IhLm0Msx3BaB+n3Ag7L8EVlByGnpq14C4YWiu/gL8=',
  'dep\texample.org/local\tv0.0.0',
  '=>\t./local\t(devel)\t',
  'dep\tgolang.org/x/net\tv0.1.0\th1:a',
  '=>\tgithub.com/acme/net\tv0.1.1-fork\th1:b',
  'dep\tgopkg.in/yaml.v3\tv3.0.1+incompatible\th1:c',
  'build\t-compiler=gc',
  'build\tvcs.revision=abc\tdep\tnot.one\tv1',
  '',
].join('\n');

const EXPECTED = [
  'pkg:golang/stdlib@1.22.1',
  'pkg:golang/github.com/BurntSushi/toml@v1.3.2',
  'pkg:golang/github.com/acme/net@v0.1.1-fork',
  'pkg:golang/gopkg.in/yaml.v3@v3.0.1%2Bincompatible',
];

describe('readGoProgram()', () => {
  it.each([1, 7, 4_096, 4_100, 100_000])('finds the modules in pieces of %i bytes', async (piece) => {
    const bytes = program(buildInfo('go1.22.1', LIST));
    expect(await read(bytes, piece)).toEqual(EXPECTED);
  });

  it('finds them behind 20 MiB of program, past data that only looks alike', async () => {
    const bytes = program(buildInfo('go1.22.1 X:boringcrypto', LIST), 20 * 1_048_576);
    MAGIC.copy(bytes, 1_001);
    MAGIC.copy(bytes, 2_048);
    bytes[2_048 + 15] = 2;
    expect(await read(bytes, 65_536)).toEqual(EXPECTED);
  });

  it('knows the library of a program that was built without modules, and none of a version in the making', async () => {
    expect(await read(program(buildInfo('go1.19.8', '')))).toEqual(['pkg:golang/stdlib@1.19.8']);
    expect(await read(program(buildInfo('devel go1.23-abc', 'mod\ta.b/c\tv1\n')))).toEqual([
      'pkg:golang/a.b/c@v1',
    ]);
  });

  it('leaves other files alone', async () => {
    expect(await read(program(Buffer.alloc(0)))).toBeUndefined();
    const script = Buffer.concat([Buffer.from('#!/bin/sh\n'.padEnd(16)), buildInfo('go1.22.1', LIST)]);
    expect(await read(script)).toBeUndefined();
    expect(await read(Buffer.from('\x7fE', 'latin1'))).toBeUndefined();
    expect(await read(Buffer.alloc(0))).toBeUndefined();
  });

  it('says why it cannot read a list', async () => {
    expect(await read(program(buildInfo('go1.17', LIST, 0)))).toEqual({
      problem: 'it was made by Go before 1.18',
    });
    const bytes = program(Buffer.alloc(2 ** 21), 16);
    for (let at = 16; at < 2 ** 20; at += 16) MAGIC.copy(bytes, at);
    expect(await read(bytes, 65_536)).toEqual({
      problem: 'it has more than 16 beginnings of build information',
    });
  });

  it('is not misled by lengths that lead past the end', async () => {
    const cut = buildInfo('go1.22.1', LIST).subarray(0, 60);
    const bytes = Buffer.concat([ELF, Buffer.alloc(9), cut]);
    expect(await read(bytes)).toBeUndefined();
    const endless = buildInfo('go1.22.1', LIST);
    endless.fill(0xff, 32, 40);
    expect(await read(program(endless))).toBeUndefined();
  });
});
