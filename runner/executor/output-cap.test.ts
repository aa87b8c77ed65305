import { describe, expect, it } from 'vitest';
import { createOutputCap } from './output-cap.ts';

function feed(bytesMax: number, chunks: readonly string[]): string {
  const cap = createOutputCap(bytesMax);
  return chunks.map((chunk) => Buffer.concat(cap.take(Buffer.from(chunk))).toString()).join('');
}

describe('createOutputCap()', () => {
  it('passes everything up to exactly the limit without a marker', () => {
    expect(feed(6, ['abc', 'def'])).toBe('abcdef');
  });

  it('cuts inside a chunk and puts the marker on a line of its own', () => {
    expect(feed(5, ['abc', 'def', 'ghi'])).toBe('abcde\n[output truncated at 5 bytes]\n');
  });

  it('adds no empty line when the cut falls behind a line break', () => {
    expect(feed(4, ['abc\n', 'def'])).toBe('abc\n[output truncated at 4 bytes]\n');
  });

  it('marks at once when nothing is allowed', () => {
    expect(feed(0, ['x'])).toBe('[output truncated at 0 bytes]\n');
  });

  it('counts both streams together and says that it has cut', () => {
    const cap = createOutputCap(3);
    cap.take(Buffer.from('out'));
    expect(cap.truncated).toBe(false);
    expect(Buffer.concat(cap.take(Buffer.from('err'))).toString()).toContain('truncated');
    expect(cap.truncated).toBe(true);
    expect(cap.take(Buffer.from('more'))).toEqual([]);
  });
});
