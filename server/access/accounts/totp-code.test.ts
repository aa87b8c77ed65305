import { describe, expect, it } from 'vitest';
import { base32, matchStep, stepAt, totpCode } from './totp-code.ts';

const SECRET = Buffer.from('12345678901234567890');

describe('totpCode()', () => {
  // These are the rows for SHA-1 of RFC 6238, appendix B, with eight digits.
  it.each([
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ])('gives the code of RFC 6238 at %i s', (seconds, code) => {
    const step = stepAt(new Date(seconds * 1_000));
    expect(totpCode(SECRET, step, 8)).toBe(code);
    expect(totpCode(SECRET, step)).toBe(code.slice(2));
  });
});

describe('matchStep()', () => {
  const now = new Date('2026-03-01T12:00:10Z');
  const step = stepAt(now);

  it.each([-1, 0, 1])('accepts the code of step %i', (away) => {
    expect(matchStep(SECRET, totpCode(SECRET, step + away), now)).toBe(step + away);
  });

  it.each([-2, 2])('refuses the code of step %i', (away) => {
    expect(matchStep(SECRET, totpCode(SECRET, step + away), now)).toBeUndefined();
  });

  it.each(['', '12345', '1234567', 'abcdef', '１２３４５６'])('refuses %j', (code) => {
    expect(matchStep(SECRET, code, now)).toBeUndefined();
  });
});

describe('base32()', () => {
  it.each([
    ['', ''],
    ['f', 'MY'],
    ['foo', 'MZXW6'],
    ['foobar', 'MZXW6YTBOI'],
  ])('spells %j as RFC 4648 does', (text, expected) => {
    expect(base32(Buffer.from(text))).toBe(expected);
  });
});
