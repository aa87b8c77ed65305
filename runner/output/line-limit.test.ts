import { describe, expect, it } from 'vitest';
import { LINE_BYTES_MAX, limitLines } from './line-limit.ts';
import { createMasker } from './masking.ts';

function limited(text: string, { size = 7, max = 10, secrets = [] as string[] } = {}): string {
  const stream = limitLines(createMasker(secrets).stream(), max);
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(stream.push(bytes.subarray(at, at + size)));
  return Buffer.concat([...out, stream.flush()]).toString();
}

describe('the limit of a line', () => {
  it('leaves lines up to the limit alone, in any cuts', () => {
    const text = '0123456789\n\nab\r0123456789\r\n€€€\nlast';
    for (let size = 1; size < 40; size += 1) expect(limited(text, { size })).toBe(text);
  });

  it('leaves out what is beyond it and says how much, in any cuts', () => {
    for (let size = 1; size < 40; size += 1) {
      expect(limited('0123456789abcdef\nshort\n', { size })).toBe(
        '0123456789 [line cut off after 10 bytes, 6 left out]\nshort\n',
      );
      expect(limited('x\n0123456789abc', { size })).toBe(
        'x\n0123456789 [line cut off after 10 bytes, 3 left out]',
      );
    }
  });

  it('counts anew after a carriage return', () => {
    const bar = Array.from({ length: 50 }, (_, i) => `\r${i} %`).join('');
    expect(limited(bar)).toBe(bar);
    expect(limited('\r0123456789abc\rdone')).toBe(
      '\r0123456789 [line cut off after 10 bytes, 3 left out]\rdone',
    );
  });

  it('never cuts a character in two, and never a secret before it is found', () => {
    expect(limited('12345678€x\n')).toBe('12345678 [line cut off after 8 bytes, 4 left out]\n');
    expect(limited('123456 hunter2hunter2\n', { secrets: ['hunter2hunter2'] })).toBe('123456 ***\n');
  });

  it('holds nothing of a line that never ends', () => {
    const stream = limitLines(createMasker([]).stream());
    let out = 0;
    for (let i = 0; i < 64; i += 1) out += stream.push(Buffer.alloc(65_536, 'x')).length;
    expect(out).toBe(LINE_BYTES_MAX);
    expect(stream.flush().toString()).toBe(
      ` [line cut off after ${LINE_BYTES_MAX} bytes, ${63 * 65_536} left out]`,
    );
  });
});
