import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { writeTar } from './tar.ts';

describe('writeTar()', () => {
  const bytes = writeTar([
    { type: 'directory', path: 'tmp', mode: 0o1777 },
    { type: 'file', path: 'bin/tool', mode: 0o755, content: Buffer.from('x'.repeat(513)) },
    { type: 'link', path: 'bin/alias', target: 'tool' },
  ]);

  it('is read by tar with modes, sizes, links and root as the owner', () => {
    const listing = execFileSync('tar', ['-tvf', '-', '--numeric-owner'], {
      input: bytes,
      encoding: 'utf8',
    }).split('\n');
    expect(listing[0]).toMatch(/^drwxrwxrwt 0\/0\s+0 .* tmp\/?$/);
    expect(listing[1]).toMatch(/^-rwxr-xr-x 0\/0\s+513 .* bin\/tool$/);
    expect(listing[2]).toMatch(/^lrwxrwxrwx 0\/0\s+0 .* bin\/alias -> tool$/);
  });

  it('gives back the content', () => {
    expect(execFileSync('tar', ['-xOf', '-', 'bin/tool'], { input: bytes, encoding: 'utf8' })).toBe(
      'x'.repeat(513),
    );
  });

  it('refuses paths that the format cannot hold', () => {
    expect(() => writeTar([{ type: 'directory', path: 'x'.repeat(101), mode: 0o755 }])).toThrow(
      /101 bytes in a tar file, limit 100/,
    );
  });
});
