import { describe, expect, it } from 'vitest';
import { displayWidth, neutralise, neutraliseLine, neutraliseLog, padEnd, truncate, wrap } from './text.ts';

describe('neutralise()', () => {
  it('makes escape sequences visible, and keeps lines and tabs', () => {
    expect(neutralise('a\u001b[31mb\u001b]0;title\u0007c')).toBe('a\\x1b[31mb\\x1b]0;title\\x07c');
    expect(neutralise('one\n\ttwo\r')).toBe('one\n\ttwo\\r');
  });

  it('makes 8-bit controls, DEL and reordering characters visible', () => {
    expect(neutralise('\u009b31m\u007f')).toBe('\\x9b31m\\x7f');
    expect(neutralise('abc\u202etxt.exe')).toBe('abc\\u202etxt.exe');
  });

  it('leaves ordinary text of any language alone', () => {
    expect(neutralise('Grüße 日本 👋 é')).toBe('Grüße 日本 👋 é');
  });
});

it('keeps one value on one line', () => expect(neutraliseLine('a\nb\tc')).toBe('a\\nb\\tc'));

it('lets progress bars of a command return to the start of their line', () =>
  expect(neutraliseLog('10%\r20%\n\u001b[2J')).toBe('10%\r20%\n\\x1b[2J'));

describe('widths', () => {
  it('counts wide characters twice and marks not at all', () => {
    expect(displayWidth('abc')).toBe(3);
    expect(displayWidth('日本')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('👋')).toBe(2);
  });

  it('cuts to the width, an ellipsis included', () => {
    expect(truncate('abcdef', 6)).toBe('abcdef');
    expect(truncate('abcdef', 5)).toBe('abcd…');
    expect(displayWidth(truncate('日本語日本語', 5))).toBeLessThanOrEqual(5);
  });

  it('pads to the width', () => expect(padEnd('日', 4)).toBe('日  '));
});

describe('wrap()', () => {
  it('breaks between words, and keeps breaks and words that are too long', () => {
    expect(wrap('one two three', 8)).toEqual(['one two', 'three']);
    expect(wrap('one\ntwo', 80)).toEqual(['one', 'two']);
    expect(wrap('a verylongword b', 5)).toEqual(['a', 'verylongword', 'b']);
  });
});
