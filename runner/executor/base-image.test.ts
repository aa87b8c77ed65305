import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { isStaticElf, parseLdd } from './base-image.ts';

describe('parseLdd()', () => {
  it('takes libraries and the loader, and leaves out what has no file', () => {
    const text = [
      '\tlinux-vdso.so.1 (0x00007ffd1)',
      '\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)',
      '\tlibmissing.so => not found',
      '\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)',
    ].join('\n');
    expect(parseLdd(text)).toEqual(['/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2']);
  });
});

describe('isStaticElf()', () => {
  function elf(segmentType: number): Buffer {
    const bytes = Buffer.alloc(128);
    bytes.writeUInt32BE(0x7f45_4c46, 0);
    bytes[4] = 2;
    bytes[5] = 1;
    bytes.writeBigUInt64LE(64n, 32);
    bytes.writeUInt16LE(56, 54);
    bytes.writeUInt16LE(1, 56);
    bytes.writeUInt32LE(segmentType, 64);
    return bytes;
  }

  it('tells a program that needs a loader from one that does not', async () => {
    expect(isStaticElf(elf(1))).toBe(true);
    expect(isStaticElf(elf(3))).toBe(false);
    expect(isStaticElf(await readFile(process.execPath))).toBe(false);
    expect(isStaticElf(Buffer.from('#!/bin/sh\n'))).toBe(false);
    expect(isStaticElf(elf(1).subarray(0, 65))).toBe(false);
  });
});
