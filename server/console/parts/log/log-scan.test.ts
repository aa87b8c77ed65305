import { describe, expect, it } from 'vitest';
import { createLogLines } from './log-lines.ts';
import { createScan } from './log-scan.ts';
import { nextOf, patternOf } from './log-search.tsx';

describe('createScan()', () => {
  it('stops when the time is over, goes on from there, and takes what came meanwhile', () => {
    const log = createLogLines();
    const write = (count: number): void =>
      log.push({ attempt: 1, text: Array.from({ length: count }, (_each, n) => `${n % 1_000}\n`).join('') });
    write(3_000);
    const scan = createScan(log, { matches: ({ text }) => text === '7', max: 4 });
    let clock = 0;
    const step = () => scan.step(() => (clock += 1), clock + 2);
    expect(step().isDone).toBe(false);
    let last = step();
    for (let n = 0; n < 20 && !last.isDone; n += 1) last = step();
    expect(last).toEqual({ found: [8, 1_008, 2_008], isDone: true });
    write(2_000);
    for (last = step(); !last.isDone;) last = step();
    expect(last.found).toEqual([8, 1_008, 2_008, 3_008]);
  });

  it('leaves the line that is still written', () => {
    const log = createLogLines();
    log.push({ attempt: 1, text: 'a\na' });
    const scan = createScan(log, { matches: ({ text }) => text === 'a', max: 10 });
    expect(scan.step(() => 0, 1).found).toEqual([1]);
    log.push({ attempt: 1, text: 'b\n' });
    expect(scan.step(() => 0, 1).found).toEqual([1]);
  });
});

describe('nextOf()', () => {
  it.each([
    [undefined, 1, 3],
    [undefined, -1, 9],
    [3, 1, 5],
    [4, -1, 3],
    [9, 1, 3],
    [3, -1, 9],
  ] as const)('from %s by %s', (from, by, line) => expect(nextOf([3, 5, 9], from, by)).toBe(line));
});

describe('patternOf()', () => {
  it('finds a text as it stands', () => {
    expect('A[1].b+'.match(patternOf('[1].B+') ?? '')?.[0]).toBe('[1].b+');
    expect(patternOf('')).toBeUndefined();
  });
});
