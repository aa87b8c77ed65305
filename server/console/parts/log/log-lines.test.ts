import { describe, expect, it } from 'vitest';
import { createLogLines, type LogLines, type LogPiece } from './log-lines.ts';

const piece = (more: Partial<LogPiece>): LogPiece => ({ attempt: 1, ...more });
const linesOf = (log: LogLines) =>
  Array.from({ length: log.last - log.dropped }, (_each, index) => log.line(log.dropped + index + 1));
const shown = (log: LogLines): string[] => linesOf(log).map(({ kind, text }) => `${kind}: ${text}`);

describe('createLogLines()', () => {
  it('joins pieces into lines, each stream its own', () => {
    const log = createLogLines();
    for (const [stream, text] of [
      ['stdout', 'one\ntw'],
      ['stdout', 'o\r\nthree'],
      ['stderr', 'warning\n'],
      ['stdout', 'four\n\n'],
    ] as const)
      log.push(piece({ stream, text }));
    expect(shown(log)).toEqual([
      'stdout: one',
      'stdout: two',
      'stdout: three',
      'stderr: warning',
      'stdout: four',
      'stdout: ',
    ]);
    expect(log.firstOfStderr).toBe(4);
  });

  it('shows of a progress bar where it stands', () => {
    const log = createLogLines();
    log.push(piece({ text: 'pull 10%\rpull 50' }));
    expect(shown(log)).toEqual(['stdout: pull 50']);
    log.push(piece({ text: '%\r' }));
    expect(shown(log)).toEqual(['stdout: pull 50%\r']);
    expect(log.complete).toBe(0);
    log.push(piece({ text: 'pull done\r\r\nnext' }));
    expect(shown(log)).toEqual(['stdout: pull done', 'stdout: next']);
    expect(log.complete).toBe(1);
  });

  it('keeps of each line the time of the piece that it begins in', () => {
    const log = createLogLines();
    log.push(piece({ text: 'a\nb', atMs: 1_000 }));
    log.push(piece({ text: 'b\nc\n', atMs: 2_000 }));
    expect(linesOf(log).map(({ atMs }) => atMs)).toEqual([1_000, 1_000, 2_000]);
  });

  it('says where output is missing and that it was tried again', () => {
    const log = createLogLines();
    log.push(piece({ text: 'a\n' }));
    log.push(piece({ text: 'b\n', missingBytes: 4_096 }));
    log.push(piece({ attempt: 2, text: 'c\n' }));
    expect(shown(log)).toEqual([
      'stdout: a',
      'gap: 4,096 bytes of output are missing here',
      'stdout: b',
      'mark: Attempt 2: the runner of the one before was lost',
      'stdout: c',
    ]);
    expect(log.missingBytes).toBe(4_096);
    expect(log.headings).toEqual([{ line: 4, level: 0 }]);
  });

  it('makes a heading of a line of the runner alone, and waits for it', () => {
    const levelOf = (line: string) => (line.startsWith('==> one:') ? 1 : undefined);
    const log = createLogLines({ levelOf });
    const part = { name: 'One', line: '==> one:' };
    log.push(piece({ part }));
    log.push(piece({ text: '==> one: mine\n' }));
    log.push(piece({ stream: 'runner', text: '==> one' }));
    log.push(piece({ stream: 'runner', text: ': begins\n' }));
    log.push(piece({ part: { name: 'Two', line: '==> two:' } }));
    log.push(piece({ text: 'rest\n' }));
    expect(log.headings).toEqual([{ line: 2, level: 1 }]);
    log.end();
    // No line of the runner came for it.
    expect(shown(log).slice(-2)).toEqual(['stdout: rest', 'mark: Two']);
    expect(log.headings).toEqual([
      { line: 2, level: 1 },
      { line: 4, level: 1 },
    ]);
  });

  it('carries colours over to the next line of the same stream', () => {
    const log = createLogLines();
    log.push(piece({ text: '\u001b[31mred\nstill red\n', stream: 'stderr' }));
    log.push(piece({ text: 'plain\n', stream: 'stdout' }));
    expect(linesOf(log).map(({ style }) => style.fg)).toEqual([undefined, 1, undefined]);
  });

  it('keeps many lines packed as they were', () => {
    const log = createLogLines();
    for (let line = 1; line <= 3_000; line += 1)
      log.push(
        piece({ text: `\u001b[3${line % 8}m${line}${line % 3 === 0 ? '' : '\u001b[0m'}\n`, atMs: line }),
      );
    for (const number of [1, 1_024, 1_025, 2_048, 3_000]) {
      const { text, atMs, kind, style } = log.line(number);
      expect([text.includes(`m${number}`), atMs, kind]).toEqual([true, number, 'stdout']);
      expect(style.fg).toBe(number % 3 === 1 && number > 1 ? (number - 1) % 8 : undefined);
    }
    expect(
      log.blocks
        .map((block) => block.written())
        .join('')
        .split('\n'),
    ).toHaveLength(3_001);
  });

  it('lets the oldest lines go past its limit, and counts them', () => {
    const log = createLogLines({ linesMax: 5_000 });
    for (let line = 1; line <= 20_000; line += 1) log.push(piece({ text: `${line}\n` }));
    expect(log.last - log.dropped).toBeLessThanOrEqual(6_024);
    expect([log.last, log.line(log.dropped + 1).text]).toEqual([20_000, String(log.dropped + 1)]);
  });

  it('takes a line without an end in a time that follows from its length', () => {
    const log = createLogLines();
    const began = performance.now();
    for (let n = 0; n < 16_384; n += 1) log.push(piece({ text: 'x'.repeat(1_024) }));
    log.end();
    expect(log.last).toBe(16);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
