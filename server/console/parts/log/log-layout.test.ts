import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hiddenBelow, layoutOf, type Shape } from './log-layout.ts';
import { createLogLines } from './log-lines.ts';

function logOf(lengths: readonly number[]) {
  const log = createLogLines();
  for (const length of lengths) log.push({ attempt: 1, text: `${'x'.repeat(length)}\n` });
  return log;
}

describe('layoutOf()', () => {
  it('gives each line its height, without those that are folded away', () => {
    const layout = layoutOf(logOf([5, 25, 0, 40, 7]), { columns: 10, hidden: [[3, 5]] });
    expect(layout.height).toBe(100);
    expect(layout.between(0, 200)).toEqual([
      { number: 1, top: 0, height: 20 },
      { number: 2, top: 20, height: 60 },
      { number: 5, top: 80, height: 20 },
    ]);
    expect(layout.between(79.5, 80)).toEqual([{ number: 2, top: 20, height: 60 }]);
    expect([layout.lineAt(60), layout.topOf(2), layout.topOf(4)]).toEqual([2, 20, 80]);
  });

  it('is the same as counting line by line, however many there are', () => {
    const shapes = fc.record({
      columns: fc.constantFrom(0, 10, 80),
      cuts: fc.uniqueArray(fc.integer({ min: 1, max: 4_000 }), { minLength: 0, maxLength: 6 }),
    });
    const lengths = Array.from({ length: 3_500 }, (_each, n) => (n * 7_919) % 200);
    const log = logOf(lengths);
    fc.assert(
      fc.property(shapes, fc.nat(4_000), ({ columns, cuts }, row) => {
        const ends = cuts.toSorted((a, b) => a - b);
        const hidden = ends.flatMap((from, index) =>
          index % 2 === 0 ? [[from, ends[index + 1] ?? Number.POSITIVE_INFINITY] as const] : [],
        );
        const shape: Shape = { columns, hidden };
        const layout = layoutOf(log, shape);
        const rows: number[] = [];
        for (const [index, length] of lengths.entries()) {
          if (hidden.some(([from, to]) => index + 1 >= from && index + 1 < to)) continue;
          const height = columns === 0 ? 1 : Math.max(1, Math.ceil(length / columns));
          for (let n = 0; n < height; n += 1) rows.push(index + 1);
        }
        expect(layout.height).toBe(rows.length * 20);
        expect(layout.lineAt(row * 20 + 19)).toBe(rows[row] ?? 3_500);
        if (rows[row] !== undefined) expect(layout.topOf(rows[row])).toBe(rows.indexOf(rows[row]) * 20);
      }),
      { numRuns: 40 },
    );
  });
});

describe('a heading', () => {
  it('is high enough to be pressed', () => {
    const log = createLogLines({ levelOf: () => 1 });
    log.push({ attempt: 1, stream: 'runner', text: 'one\ntwo\n' });
    log.push({ attempt: 1, text: 'three\n' });
    expect(layoutOf(log, { columns: 0, hidden: [] }).between(0, 100)).toMatchObject([
      { top: 0, height: 24 },
      { top: 24, height: 24 },
      { top: 48, height: 20 },
    ]);
  });
});

describe('hiddenBelow()', () => {
  const headings = [
    { line: 1, level: 1 },
    { line: 4, level: 2 },
    { line: 8, level: 2 },
    { line: 10, level: 1 },
  ];

  it('ends a fold at the next heading of its level or an outer one', () => {
    expect(hiddenBelow(headings, new Set([4]))).toEqual([[5, 8]]);
    expect(hiddenBelow(headings, new Set([1, 4, 10]))).toEqual([
      [2, 10],
      [11, Number.POSITIVE_INFINITY],
    ]);
  });
});
