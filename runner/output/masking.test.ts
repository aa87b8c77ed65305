import { describe, expect, it } from 'vitest';
import { characterBoundary, createMasker } from './masking.ts';

/** The output of a stream that arrives in pieces of `size` bytes. */
function inPieces(secrets: string[], text: string | Buffer, size: number): string {
  const stream = createMasker(secrets).stream();
  const bytes = Buffer.from(text as string);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(stream.push(bytes.subarray(at, at + size)));
  return Buffer.concat([...out, stream.flush()]).toString('utf8');
}

const SECRET = 'hunter2/pass word+"quoted"';

describe('masking, 2.15 secrets leak or too much is masked', () => {
  it('strikes out a secret that is cut in two at any place', () => {
    for (let size = 1; size < 40; size += 1) {
      expect(inPieces([SECRET], `before ${SECRET} after`, size)).toBe('before *** after');
    }
  });

  it('strikes out the escaped and encoded spellings', () => {
    const json = JSON.stringify({ password: SECRET });
    expect(inPieces([SECRET], json, 7)).toBe('{"password":"***"}');
    expect(inPieces([SECRET], `?p=${encodeURIComponent(SECRET)}&x`, 3)).toBe('?p=***&x');
    expect(inPieces([SECRET], encodeURIComponent(SECRET).toLowerCase(), 5)).toBe('***');
  });

  it('strikes out percent-encoding whatever an encoder encodes, in either case and mixed', () => {
    const secret = "pa55!w*rd(x)'s ~ä/+%";
    const everything = [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
    for (const spelling of [
      'pa55%21w%2Ard%28x%29%27s%20%7E%C3%A4%2F%2B%25',
      'pa55%21w%2ard%28x%29%27s+~%c3%A4/%2b%25',
      "pa55!w%2ard(x%29's %7e%C3%a4%2F+%",
      encodeURIComponent(secret),
      new URLSearchParams([['', secret]]).toString().slice(1),
      everything.join(''),
      everything.join('').toUpperCase(),
    ])
      for (let size = 1; size < 12; size += 1)
        expect(inPieces([secret], `?p=${spelling}&q=%21`, size), spelling).toBe('?p=***&q=%21');
    expect(inPieces(['pa55!w*rd(x)'], 'pa55%21w%2Ard%28x%28 pa55%2 %', 3)).toBe(
      'pa55%21w%2Ard%28x%28 pa55%2 %',
    );
  });

  it('strikes out hexadecimal in both cases', () => {
    const hex = Buffer.from(SECRET).toString('hex');
    expect(inPieces([SECRET], `dump ${hex} end`, 5)).toBe('dump *** end');
    expect(inPieces([SECRET], `dump 00${hex.toUpperCase()}0a`, 1)).toBe('dump 00***0a');
  });

  it('strikes out base64 at each of the three alignments', () => {
    for (const before of ['', 'a', 'ab', 'abc', 'user:']) {
      for (const after of ['', 'x', 'xy', '\n']) {
        const text = Buffer.from(before + SECRET + after).toString('base64');
        const masked = inPieces([SECRET], text, 4);
        expect(masked).toContain('***');
        expect(masked.length).toBeLessThan(3 + 8 + Math.ceil((before.length + after.length) * 1.4));
      }
    }
    const urlSafe = Buffer.from('~~~???>>>abc').toString('base64url');
    expect(inPieces(['~~~???>>>abc'], urlSafe, 2)).toBe('***');
  });

  it('leaves short values and plain words alone', () => {
    expect(inPieces(['{', 'abc', 'true', ''], 'x { abc } true', 1)).toBe('x { abc } true');
  });

  it('strikes out each line of a secret with several lines, alone and together', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----';
    expect(inPieces([key], `a\n${key}\nb`, 5)).toBe('a\n***\nb');
    expect(inPieces([key], 'line: MIIEvQIBADANBg!', 5)).toBe('line: ***!');
    expect(inPieces([key], `a ${key.replaceAll('\n', '\r\n')} b`, 11)).toBe('a *** b');
  });

  it('takes the longest of several secrets and joins overlapping ones', () => {
    expect(inPieces(['pass', 'password', 'password123'], 'x password123 password pass', 1)).toBe(
      'x *** *** ***',
    );
    expect(inPieces(['abcdef', 'defghi'], '-abcdefghi-', 1)).toBe('-***-');
    expect(inPieces(['abcdef', 'defghi'], '-abcdefghi-', 100)).toBe('-***-');
  });

  it('passes on the beginning of a secret that does not go on', () => {
    expect(inPieces(['hunter2000'], 'hunter2 hunt', 3)).toBe('hunter2 hunt');
    expect(inPieces(['pass', 'passphrase'], 'passphras', 2)).toBe('***phras');
  });

  it('holds back a bounded number of bytes, also for an endless overlap', () => {
    const stream = createMasker(['aaaa']).stream();
    let out = 0;
    for (let i = 0; i < 1000; i += 1) out += stream.push(Buffer.alloc(1000, 'a')).length;
    expect(out).toBe(3);
    expect(stream.flush().length).toBe(0);
  });

  it('never cuts a character in two', () => {
    const stream = createMasker(['secret-value']).stream();
    for (const byte of Buffer.from('grüße 🚀 €')) {
      const text = stream.push(Buffer.from([byte])).toString('utf8');
      expect(text).not.toContain('\ufffd');
    }
  });

  it('passes on bytes that are no UTF-8 unchanged', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x80, 0x80, 0x80, 0x80, 0xe2, 0x41, 0xf0]);
    const stream = createMasker([]).stream();
    const out = Buffer.concat([
      ...[...bytes].map((byte) => stream.push(Buffer.from([byte]))),
      stream.flush(),
    ]);
    expect(out).toEqual(bytes);
    expect(characterBoundary(bytes, 0, 5)).toBe(5);
  });

  it('agrees with a simple replacement for random cuts', () => {
    let seed = 42;
    const next = (bound: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % bound;
    };
    for (let round = 0; round < 200; round += 1) {
      let text = '';
      for (let i = 0; i < 50; i += 1) text += ['ab', 'secretA!', 'x', 'secretB?', '€'][next(5)];
      const stream = createMasker(['secretA!', 'secretB?']).stream();
      const bytes = Buffer.from(text);
      const out: Buffer[] = [];
      for (let at = 0; at < bytes.length;) {
        const size = 1 + next(9);
        out.push(stream.push(bytes.subarray(at, at + size)));
        at += size;
      }
      out.push(stream.flush());
      const expected = text.replaceAll('secretA!', '***').replaceAll('secretB?', '***');
      expect(Buffer.concat(out).toString('utf8'), `round ${round}`).toBe(expected);
    }
  });
});
