import { describe, expect, it } from 'vitest';
import { classOf, columnsOf, PLAIN, spansOf, styleAfter } from './ansi.ts';

const ESC = '\u001b';
const shown = (line: string): string[] =>
  spansOf(line, PLAIN).spans.map(({ text, style }) => `${text}|${classOf(style)}`);

describe('spansOf()', () => {
  it('turns colours into classes and leaves the last one behind', () => {
    expect(shown(`a${ESC}[31mb${ESC}[1;44mc${ESC}[0md`)).toEqual([
      'a|',
      'b|fg-1',
      'c|fg-1 bg-4 ansi-bold',
      'd|',
    ]);
    expect(spansOf(`${ESC}[32mgreen`, PLAIN).end).toEqual({ fg: 2 });
    expect(spansOf('goes on', { fg: 2 }).spans).toEqual([{ text: 'goes on', style: { fg: 2 } }]);
  });

  it('brings 256 colours and true colour to the nearest of its own', () => {
    expect(shown(`${ESC}[38;5;196mred${ESC}[39m${ESC}[38;2;10;200;30mgreen${ESC}[48;5;21mon blue`)).toEqual([
      'red|fg-1',
      'green|fg-2',
      'on blue|fg-2 bg-4',
    ]);
  });

  it('takes out what would move the cursor, set a title or name a link', () => {
    const link = `${ESC}]8;;https://evil.example${ESC}\\click${ESC}]8;;${ESC}\\`;
    expect(shown(`${ESC}[2K${ESC}[1A${ESC}]0;title\u0007x${link}\u0000\u0008y${ESC}[`)).toEqual([
      'x|',
      'click|',
      'y|',
    ]);
  });

  it('keeps markup as text', () => {
    expect(shown('<img src=x onerror=alert(1)>')).toEqual(['<img src=x onerror=alert(1)>|']);
  });

  it('reads a line of a million escapes in a moment', () => {
    const began = performance.now();
    spansOf(`${ESC}[3${ESC}]`.repeat(200_000), PLAIN);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});

describe('styleAfter()', () => {
  it.each([
    `a${ESC}[31mb`,
    `${ESC}[1;32mx${ESC}[0m`,
    `${ESC}[31mx${ESC}[mb`,
    `${ESC}[31m${ESC}[2K`,
    `x${ESC}[`,
  ])('is what spansOf() ends with: %j', (line) => {
    for (const start of [PLAIN, { bg: 3 }]) expect(styleAfter(line, start)).toEqual(spansOf(line, start).end);
  });
});

describe('columnsOf()', () => {
  it.each([
    ['plain', 5],
    [`${ESC}[31mred${ESC}[0m`, 3],
    ['\tx', 9],
    ['日本', 4],
    ['✓ é', 4],
  ])('%j', (line, columns) => expect(columnsOf(line)).toBe(columns));
});
